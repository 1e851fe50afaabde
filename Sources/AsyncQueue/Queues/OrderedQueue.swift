import Inturn

/// What this module's queues have in common: a core that does everything.
///
/// A queue that is released runs its pending operations and then frees everything. If it was
/// suspended, it is resumed for that.
protocol OrderedQueue: LaneQueue {
  var core: QueueCore { get }
}

extension OrderedQueue {
  public var label: String? { core.label }
  public var capacity: Int? { core.capacity }
  public var clock: ManualClock? { core.clock }

  package var lane: Handle { core.queue }
  package func emit(_ event: QueueEvent) { core.emitOwn(event) }
  package func progressed() { core.progressed() }

  /// Cancels all operations of the queue; operations that are enqueued later are not affected.
  ///
  /// Pending ones never run, and awaiting one throws `CancellationError`; if the form cannot throw,
  /// the body runs in its turn, in a cancelled task. Running ones are asked to end, by cancelling
  /// their tasks. A body that runs in its caller's task, as with `run` and `enqueueAndWait`, is not
  /// cancelled: its task is not the queue's.
  public func cancelAll() { core.cancelAll() }

  package var isQuiet: Bool { core.isQuiet }
  package func waitUntilQuiet(timeout: Duration?) async -> Bool {
    await core.waitUntilQuiet(timeout: timeout)
  }

  public var statistics: QueueStatistics { core.statistics }
  public var states: QueueStates { core.states }

  /// The queue's events from now on; see `WorkQueue`.
  ///
  /// Of operations that were enqueued before, those are told that may throw, have options or
  /// inherit task-local values. Others are not, and neither are bodies of `run` and
  /// `enqueueAndWait` that found the queue free before. While somebody reads the events, each
  /// operation costs a task.
  public func events(
    buffering policy: AsyncStream<QueueEvent>.Continuation.BufferingPolicy
  ) -> AsyncStream<QueueEvent> { core.makeEvents(buffering: policy) }

  public func list(atMost count: Int) -> [OperationInfo] { core.list(atMost: count) }
}
