import InturnCore

// Drains a lane for a scenario as the Swift modules do; hosted.hpp has the C side.

/// Passes each turn on to a C function.
final class Host: LaneHost, @unchecked Sendable {
  // Safe to share: it never changes.

  typealias Function = @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void
  private let ready: Function
  private let kept: @convention(c) (UInt) -> Void
  private let context: UnsafeMutableRawPointer

  init(
    _ ready: @escaping Function, _ kept: @escaping @convention(c) (UInt) -> Void,
    _ context: UnsafeMutableRawPointer
  ) {
    self.ready = ready
    self.kept = kept
    self.context = context
  }

  func laneIsReady(_ turn: OutsideExecutor.Turn) { ready(context, turn.bits) }
  func keep(_ context: UInt) { kept(context) }
  func cancelIsDue(_ notice: OutsideExecutor.CancelNotice) { notice.deliver() }
}

extension OutsideExecutor.Turn {
  /// A turn is the pointer to its lane.
  fileprivate var bits: UnsafeMutableRawPointer {
    unsafeBitCast(self, to: UnsafeMutableRawPointer.self)
  }
}

@_cdecl("model_hosted_create")
func create(
  _ kind: UInt8, _ capacity: UInt64, _ ready: Host.Function,
  _ kept: @convention(c) (UInt) -> Void, _ context: UnsafeMutableRawPointer
) -> UInt64 {
  var options = QueueOptions(kind: QueueKind(rawValue: kind)!)
  options.capacity = capacity
  return Engine.createQueue(options, host: Host(ready, kept, context), clock: nil).1.bits
}

@_cdecl("model_hosted_enqueue_plain")
func enqueuePlain(
  _ queue: UInt64, _ context: UInt, _ isObstinate: Bool,
  _ destroy: @convention(c) (UnsafeMutableRawPointer?) -> Void
) -> Int32 {
  let queue = Handle(bits: queue)
  let status =
    isObstinate
    ? Engine.enqueueObstinate(queue, context: context, destroy: destroy)
    : Engine.enqueuePlain(queue, work: 1 << 16, context: context, destroy: destroy)
  return status.rawValue
}

@_cdecl("model_hosted_enqueue")
func enqueue(
  _ queue: UInt64, _ context: UnsafeMutableRawPointer, _ isObstinate: Bool, _ maxWait: Int64,
  _ after: UInt64, _ joins: Bool, _ attempts: UInt32,
  _ destroy: @convention(c) (UnsafeMutableRawPointer?) -> Void,
  _ handle: UnsafeMutablePointer<UInt64>
) -> Int32 {
  var options: OperationOptions?
  if maxWait > 0 || after != 0 || joins || attempts > 1 { options = OperationOptions() }
  options?.maxWait = maxWait
  options?.joins = joins
  if attempts > 1 {
    options?.retry = RetryPolicy()
    options?.retry?.maximumAttempts = attempts
  }
  let (status, operation) = withUnsafePointer(to: Handle(bits: after)) { after in
    options?.after = UnsafeBufferPointer(
      start: after, count: after.pointee.bits == 0 ? 0 : 1)
    return "key".withCString { key in
      if joins { options?.key = key }
      return Engine.enqueue(
        Handle(bits: queue), options: options, context: context, destroy: destroy,
        isObstinate: isObstinate, wantsHandle: true)
    }
  }
  handle.pointee = operation.bits
  return status.rawValue
}

@_cdecl("model_hosted_enter")
func enter(_ queue: UInt64) -> Bool { Engine.enter(Handle(bits: queue)) }

@_cdecl("model_hosted_leave")
func leave(_ queue: UInt64) { Engine.leave(Handle(bits: queue), as: .finished) }

/// Tells the contexts of running operations with slots.
@_cdecl("model_hosted_look")
func look(_ queue: UInt64, _ asker: UnsafeMutableRawPointer, _ told: Host.Function) {
  Engine.forEachRunning(of: Handle(bits: queue), areAskedToEnd: false) { told(asker, $0) }
}

/// Takes a turn. The drainer lives until `next` says that it has left, gone back or made an offer.
@_cdecl("model_drainer_make")
func makeDrainer(_ turn: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
  Unmanaged.passRetained(LaneDrainer(unsafeBitCast(turn, to: OutsideExecutor.Turn.self))).toOpaque()
}

/// Takes the next step. Returns 0 if the drainer has left, 1 for a plain operation, 2 for one that is
/// offered, and 3 if the drainer went back, with the wanted tag in the turn's lowest bits. Tags that
/// are too large mean none.
@_cdecl("model_drainer_next")
func next(
  _ drainer: UnsafeMutableRawPointer, _ tag: UInt, _ isPatient: Bool,
  _ context: UnsafeMutablePointer<UInt>, _ token: UnsafeMutablePointer<UInt64>
) -> Int32 {
  let tag = tag > LaneDrainer.tagMask ? nil : tag
  let kept = Unmanaged<LaneDrainer>.fromOpaque(drainer)
  switch kept.takeUnretainedValue().next(tag: tag, isPatient: isPatient) {
  case .plain(_, let its, let handle):
    (context.pointee, token.pointee) = (its, handle.bits)
    return 1
  case .offered(let its):
    context.pointee = its
    kept.release()
    return 2
  case .wentBack(let turn, let tag, _):
    context.pointee = UInt(bitPattern: turn.bits) | tag
    kept.release()
    return 3
  case .left:
    kept.release()
    return 0
  }
}

@_cdecl("model_drainer_plain_returned")
func plainReturned(_ drainer: UnsafeMutableRawPointer) {
  Unmanaged<LaneDrainer>.fromOpaque(drainer).takeUnretainedValue().plainReturned()
}

/// Claims what was offered. Returns 0 if it is not its turn, 3 if a cancel of all has marked it, and
/// else 1. The token is null if the operation is over; the next drainer is never zero.
@_cdecl("model_claim")
func claim(
  _ queue: UInt64, _ context: UInt, _ token: UnsafeMutablePointer<UInt64>,
  _ next: UnsafeMutablePointer<UInt>, _ begun: @convention(c) (UInt) -> Void
) -> Int32 {
  let claim = Engine.claim(context, of: Handle(bits: queue)) { begun(context) }
  guard let claim else { return 0 }
  token.pointee = claim.token.bits
  next.pointee = claim.offered ?? 0
  return claim.isAskedToEnd ? 3 : 1
}
