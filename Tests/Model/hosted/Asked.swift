import InturnCore

// What only the Swift modules ask of queues that are the library's own; hosted.hpp has the C side.

typealias Told = @convention(c) (UnsafeMutableRawPointer, UInt32, UInt64) -> Void

/// An address that is sent along, and looked at by nobody on the way.
private struct Context: @unchecked Sendable {
  // Safe to share: nothing of it changes.
  let address: UnsafeMutableRawPointer
}

/// Has `told` hear the kind of each event, and the number of its operation.
@_cdecl("model_observe")
func observe(_ queue: UInt64, _ context: UnsafeMutableRawPointer, _ told: @escaping Told) -> Int32 {
  let context = Context(address: context)
  return Engine.observe(Handle(bits: queue)) {
    told(context.address, $0.kind.rawValue, $0.operation)
  }.rawValue
}

/// Enqueues an operation that has a handle and nothing else.
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

@_cdecl("model_places")
func places(_ operation: UInt64) -> UInt32 {
  UInt32(Engine.places(for: Handle(bits: operation)))
}

/// A task's wait outside of all operations, which begins and ends.
@_cdecl("model_task_waits")
func taskWaits() -> Bool {
  guard let entry = try? TaskWaitGraph.enter(inside: { [] }, needing: { _ in [] }) else {
    return false
  }
  TaskWaitGraph.leave(entry)
  return true
}
