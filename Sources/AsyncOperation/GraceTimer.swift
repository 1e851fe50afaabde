import Inturn

/// How long an operation may go on after it was asked to end, and on which clock.
struct Grace {
  let duration: Duration
  /// A suspended queue of the engine's; see `GraceTimer`.
  let queue: Handle
}

/// Calls a function once after a time, unless it is released before.
///
/// It is an operation in a queue of the engine's that is never resumed: the time is its `maxWait`,
/// on the queue's clock.
final class GraceTimer: Sendable {
  /// A queue on the system's clock.
  static let systemQueue = makeQueue(clock: Handle(bits: 0))

  /// A queue for timers on a clock.
  static func makeQueue(clock: Handle) -> Handle {
    var options = QueueOptions(kind: .fifo)
    let (status, queue) = "grace times".withCString {
      options.label = $0
      return Engine.createQueue(options, executor: Handle(bits: 0), clock: clock)
    }
    require(status == .ok && Engine.suspend(queue) == .ok, "Inturn: no memory for a queue")
    return queue
  }

  private final class Alarm: Sendable {
    let ring: @Sendable () -> Void

    init(_ ring: @escaping @Sendable () -> Void) { self.ring = ring }
  }

  private let operation: Handle

  /// Nil when memory runs out, or after a fork.
  init?(_ grace: Grace, ring: @escaping @Sendable () -> Void) {
    let alarm = Unmanaged.passRetained(Alarm(ring)).toOpaque()
    var options = InturnCore.OperationOptions()
    options.maxWait = max(1, grace.duration.inNanoseconds)
    options.endCallback = EndCallback(
      function: {},
      call: { _, alarm, end in
        if end.outcome != .timedOut { return }
        Unmanaged<Alarm>.fromOpaque(alarm!).takeUnretainedValue().ring()
      }, context: alarm, destroy: { Unmanaged<Alarm>.fromOpaque($0!).release() })
    let (status, operation) = Engine.enqueue(
      grace.queue, options: options, work: { _, _ in }, context: nil, destroy: nil,
      wantsHandle: true)
    if status != .ok {
      Unmanaged<Alarm>.fromOpaque(alarm).release()
      return nil
    }
    self.operation = operation
  }

  deinit {
    _ = Engine.cancel(operation)
    _ = Engine.release(operation)
  }
}
