import InturnCore

// What only the Swift modules ask of the library's own queues; hosted.hpp has the C side.

typealias Told = @convention(c) (UnsafeMutableRawPointer, UInt32, UInt64) -> Void

/// An address that is passed along and not looked at on the way.
private struct Context: @unchecked Sendable {
  // Safe to share: it never changes.
  let address: UnsafeMutableRawPointer
}

/// Calls `told` with the kind of each event, and the number of its operation.
@_cdecl("model_observe")
func observe(_ queue: UInt64, _ context: UnsafeMutableRawPointer, _ told: @escaping Told) -> Int32 {
  let context = Context(address: context)
  return Engine.observe(Handle(bits: queue)) {
    told(context.address, $0.kind.rawValue, $0.operation)
  }.rawValue
}

/// Enqueues an operation that has a handle and no options.
@_cdecl("model_enqueue_without_options")
func enqueueWithoutOptions(
  _ queue: UInt64, _ context: UnsafeMutableRawPointer?, _ work: @escaping RawWork,
  _ operation: UnsafeMutablePointer<UInt64>
) -> Int32 {
  let (status, handle) = Engine.enqueue(
    Handle(bits: queue), options: nil, work: work, context: context, destroy: nil,
    wantsHandle: true)
  operation.pointee = handle.bits
  return status.rawValue
}

@_cdecl("model_limit")
func limit(_ queue: UInt64, _ limit: UnsafeMutablePointer<UInt32>) -> Int32 {
  let (status, found) = Engine.limit(of: Handle(bits: queue))
  limit.pointee = found
  return status.rawValue
}

/// A task's wait outside of operations, which begins and ends.
@_cdecl("model_task_waits")
func taskWaits() -> Bool {
  guard let entry = try? WaitGraph.enter(TaskWait(inside: { [] }, needing: { [] }, at: .unknown))
  else { return false }
  WaitGraph.leave(entry)
  return true
}

@_cdecl("model_has_joined")
func hasJoined(_ operation: UInt64) -> Bool { Engine.hasJoined(Handle(bits: operation)) }

/// Nothing ever becomes ready here.
private final class IdleHost: LaneHost, Sendable {
  func laneIsReady(_ turn: OutsideExecutor.Turn) {}
  func keep(_ context: UInt) {}
  func cancelIsDue(_ notice: OutsideExecutor.CancelNotice) {}
}

@_cdecl("model_queue_on_clock")
func queueOnClock(_ clock: UInt64) -> UInt64 {
  let clock = Engine.clock(Handle(bits: clock)).1
  return Engine.createQueue(QueueOptions(kind: .fifo), host: IdleHost(), clock: clock).1.bits
}

// MARK: A value of more than one word

private struct Pair {
  var one, other: UInt64
}

@_cdecl("model_pair_make")
func makePair() -> UnsafeMutableRawPointer {
  Unmanaged.passRetained(Trail(Pair(one: 0, other: 0))).toOpaque()
}

@_cdecl("model_pair_release")
func releasePair(_ pair: UnsafeMutableRawPointer) {
  Unmanaged<Trail<Pair>>.fromOpaque(pair).release()
}

@_cdecl("model_pair_set")
func setPair(_ pair: UnsafeMutableRawPointer, _ value: UInt64) {
  Unmanaged<Trail<Pair>>.fromOpaque(pair).takeUnretainedValue()
    .set(Pair(one: value, other: value))
}

/// The value of both halves; the largest number if they differ.
@_cdecl("model_pair_get")
func getPair(_ pair: UnsafeMutableRawPointer) -> UInt64 {
  let value = Unmanaged<Trail<Pair>>.fromOpaque(pair).takeUnretainedValue().value
  return value.one == value.other ? value.one : .max
}
