import InturnCore

// What a scenario needs to drain a lane as the Swift modules do; hosted.hpp has the C side.

/// Hands each turn on to a C function.
final class Host: LaneHost, @unchecked Sendable {
  // Safe to share: nothing of it changes.

  typealias Function = @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void
  private let ready: Function
  private let context: UnsafeMutableRawPointer

  init(_ ready: @escaping Function, _ context: UnsafeMutableRawPointer) {
    self.ready = ready
    self.context = context
  }

  func laneIsReady(_ turn: OutsideExecutor.Turn) { ready(context, turn.bits) }
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
  _ kind: UInt8, _ ready: Host.Function, _ context: UnsafeMutableRawPointer
) -> UInt64 {
  let options = QueueOptions(kind: QueueKind(rawValue: kind)!)
  return Engine.createQueue(options, host: Host(ready, context), clock: nil).1.bits
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
  _ queue: UInt64, _ context: UnsafeMutableRawPointer, _ isObstinate: Bool,
  _ destroy: @convention(c) (UnsafeMutableRawPointer?) -> Void,
  _ handle: UnsafeMutablePointer<UInt64>
) -> Int32 {
  let (status, operation) = Engine.enqueue(
    Handle(bits: queue), options: nil, context: context, destroy: destroy,
    isObstinate: isObstinate, wantsHandle: true)
  handle.pointee = operation.bits
  return status.rawValue
}

@_cdecl("model_hosted_enter")
func enter(_ queue: UInt64) -> Bool { Engine.enter(Handle(bits: queue)) }

@_cdecl("model_hosted_leave")
func leave(_ queue: UInt64) { Engine.leave(Handle(bits: queue), as: .finished) }

/// Tells the contexts of operations with slots that run.
@_cdecl("model_hosted_look")
func look(_ queue: UInt64, _ asker: UnsafeMutableRawPointer, _ told: Host.Function) {
  Engine.forEachRunning(of: Handle(bits: queue), areAskedToEnd: false) { told(asker, $0) }
}

/// Takes a turn. The drainer is there until `next` says that it has left or gone back, or
/// `operationReturned` that the lane has gone on without it.
@_cdecl("model_drainer_make")
func makeDrainer(_ turn: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
  Unmanaged.passRetained(LaneDrainer(unsafeBitCast(turn, to: OutsideExecutor.Turn.self))).toOpaque()
}

/// The next step: 0 for one that has left, 1 for a plain operation, 2 for one with a slot, 3 for one
/// that went back, with the tag that was wanted in the turn's lowest bits. A tag that is too large is
/// none.
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
  case .operation(let its, let handle):
    (context.pointee, token.pointee) = (UInt(bitPattern: its), handle.bits)
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

@_cdecl("model_drainer_operation_returned")
func operationReturned(_ drainer: UnsafeMutableRawPointer) -> Bool {
  let kept = Unmanaged<LaneDrainer>.fromOpaque(drainer)
  let goesOn = kept.takeUnretainedValue().operationReturned()
  if !goesOn { kept.release() }
  return goesOn
}
