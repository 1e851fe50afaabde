import InturnCore

/// The part of a queue that the engine drains: the engine's queue, its constant settings, and the
/// readers of its events.
package final class QueueEngine: Sendable {
  package let handle: Handle
  let label: String?
  let capacity: Int?
  let clock: ManualClock?
  package let states: QueueStates
  let quietWaits = QuietWaits()
  private let broadcast = Broadcast<QueueEvent>()

  /// Creates a queue, or stops the program when there is no memory for one. `executor` is where its
  /// work is called; null for the library's pool. `change` sets options that only some kinds have.
  package init(
    _ kind: QueueKind, label: String?, capacity: Int?, clock: ManualClock?,
    executor: Handle = Handle(bits: 0), change: (inout QueueOptions) -> Void
  ) {
    require(capacity ?? 1 > 0, "A capacity must be positive; use nil for no limit.")
    (self.label, self.capacity, self.clock) = (label, capacity, clock)
    var options = QueueOptions(kind: kind)
    options.capacity = UInt64(capacity ?? 0)
    options.clock = clock?.engineClock
    change(&options)
    // The engine only uses a queue's clock when it is given an executor.
    let isOfPool = executor.bits == 0 && options.clock != nil
    let (status, handle) = withOptionalCString(label) { text in
      var options = options
      options.label = text
      return Engine.createQueue(
        options, executor: isOfPool ? Engine.poolExecutor : executor, clock: Handle(bits: 0))
    }
    require(status == .ok, "The queue could not be made: no memory, or no thread.")
    self.handle = handle
    states = QueueStates(queue: handle)
  }

  /// The events from now on.
  func events(
    _ policy: AsyncStream<QueueEvent>.Continuation.BufferingPolicy
  ) -> AsyncStream<QueueEvent> {
    let stream = broadcast.stream(keeping: policy)
    _ = Engine.observe(handle) { [broadcast] in broadcast.send(QueueEvent($0)) }
    return stream
  }

  /// The last events have been sent.
  package func finishEvents() { broadcast.finish() }
}

package func withOptionalCString<Result>(
  _ text: String?, _ body: (UnsafePointer<CChar>?) -> Result
) -> Result {
  guard let text else { return body(nil) }
  return text.withCString(body)
}

extension String {
  /// A name, key or reason in the engine's form, which ends with a zero. A zero in the string
  /// becomes two bytes that no valid text contains, so that it is not taken for a shorter string.
  package var nameBytes: [CChar] {
    if !utf8.contains(0) { return Array(utf8CString) }
    return (utf8.flatMap { $0 == 0 ? [0xC0, 0x80] : [$0] } + [0]).map(CChar.init(bitPattern:))
  }
}

/// A queue with a lane: what all such queues pass on to the engine.
package protocol LaneQueue: WorkQueue {
  var lane: Handle { get }
  /// Sends an event that the engine does not send, such as that of a queue with its own drain.
  func emit(_ event: QueueEvent)
  /// Something may have ended outside of the engine's drain.
  func progressed()
  /// Whether nothing is pending, running or being told of its end.
  var isQuiet: Bool { get }
  /// Waits for that. Returns whether it is so, rather than timed out or the task cancelled.
  func waitUntilQuiet(timeout: Duration?) async -> Bool
}

extension LaneQueue {
  @_disfavoredOverload
  public func suspend() { suspend(at: .unknown) }

  fileprivate func suspend(at site: Site) {
    require(Engine.suspend(lane, at: site) == .ok, "suspend() too often: resume() as often.")
    emit(.suspended)
  }

  public func resume() {
    // Sent before the events of whatever starts now.
    emit(.resumed)
    require(Engine.resume(lane) == .ok, "resume() without a suspend(): call one for each.")
  }

  @_disfavoredOverload
  public func suspend(for reason: String) { suspend(for: reason, at: .unknown) }

  fileprivate func suspend(for reason: String, at site: Site) {
    require(
      Engine.suspend(lane, at: site, reason: reason.nameBytes) == .ok,
      "suspend(for:) too often: resume as often.")
    emit(.suspended)
  }

  public func resume(for reason: String) {
    emit(.resumed)
    require(
      Engine.resume(lane, reason: reason.nameBytes) == .ok,
      "resume(for: \"\(reason)\") without a suspend(for:) with that reason: call one for each.")
  }

  @_disfavoredOverload @discardableResult
  public func drain(timeout: Duration?) async throws(QueueError) -> [OperationInfo] {
    try await drain(timeout: timeout, at: .unknown)
  }

  public func setRate(maxStarts: Int, interval: Duration, burst: Int?) {
    Engine.setRate(
      maxStarts: maxStarts, nanoseconds: interval.inNanoseconds, burst: burst, of: lane)
  }

  public func removeRate() { _ = Engine.setRate(nil, of: lane) }

  public func setStallLimit(_ limit: Duration?) {
    _ = Engine.setStallLimit(StallLimit(limit), of: lane)
  }

  @discardableResult
  public func cancel(key: String) -> Int {
    defer { progressed() }
    return Int(Engine.cancel(key.nameBytes, of: lane).1)
  }

  @discardableResult
  public func resolve(key: String) -> Int {
    defer { progressed() }
    return Int(Engine.resolve(key.nameBytes, of: lane).1)
  }

  public func close() {
    if Engine.close(lane) == .ok { emit(.closed) }
    progressed()
  }
}

extension WorkQueue {
  /// As ``suspend()``, which is what `queue.suspend` alone stands for; reports name the line.
  ///
  /// - Parameters:
  ///   - fileID: Where it is suspended.
  ///   - line: The same.
  ///   - call: Leave it out: only a call states its type, so the bare method name refers to the
  ///     other overload.
  public func suspend<Call>(
    fileID: StaticString = #fileID, line: UInt = #line, call: Call = ()
  ) {
    if let queue = self as? any LaneQueue { return queue.suspend(at: Site(fileID, line)) }
    // A direct call would come back here.
    let suspend: () -> Void = self.suspend
    suspend()
  }

  /// As ``suspend(for:)``; reports name the line.
  ///
  /// - Parameters:
  ///   - reason: As there.
  ///   - fileID: Where it is suspended.
  ///   - line: The same.
  ///   - call: Leave it out: only a call states its type, so the bare method name refers to the
  ///     other overload.
  public func suspend<Call>(
    for reason: String, fileID: StaticString = #fileID, line: UInt = #line, call: Call = ()
  ) {
    if let queue = self as? any LaneQueue {
      return queue.suspend(for: reason, at: Site(fileID, line))
    }
    let suspend: (String) -> Void = self.suspend(for:)
    suspend(reason)
  }

  /// As ``drain(timeout:)``, without a limit unless there is one; reports name the line.
  ///
  /// - Parameters:
  ///   - timeout: As there.
  ///   - fileID: Where it waits.
  ///   - line: The same.
  ///   - call: Leave it out: only a call states its type, so the bare method name refers to the
  ///     other overload.
  @discardableResult
  public func drain<Call>(
    timeout: Duration? = nil, fileID: StaticString = #fileID, line: UInt = #line, call: Call = ()
  ) async throws(QueueError) -> [OperationInfo] {
    if let queue = self as? any LaneQueue {
      return try await queue.drain(timeout: timeout, at: Site(fileID, line))
    }
    let drain: (Duration?) async throws(QueueError) -> [OperationInfo] = self.drain(timeout:)
    return try await drain(timeout)
  }
}

/// A queue that the engine drains.
package protocol EngineQueue: LaneQueue {
  var engine: QueueEngine { get }
}

extension EngineQueue {
  package var lane: Handle { engine.handle }
  package func emit(_: QueueEvent) {}
  package func progressed() {}

  public var label: String? { engine.label }
  public var capacity: Int? { engine.capacity }
  public var clock: ManualClock? { engine.clock }
  public var states: QueueStates { engine.states }
  public var statistics: QueueStatistics { QueueStatistics(of: engine.handle) }

  public func cancelAll() { _ = Engine.cancelAll(engine.handle) }

  package var isQuiet: Bool { Engine.drain(engine.handle, timeoutNanoseconds: 0) == .ok }

  package func waitUntilQuiet(timeout: Duration?) async -> Bool {
    await engine.quietWaits.wait(for: engine.handle, within: timeout, of: engine.clock)
  }

  public func events(
    buffering policy: AsyncStream<QueueEvent>.Continuation.BufferingPolicy
  ) -> AsyncStream<QueueEvent> { engine.events(policy) }

  public func list(atMost count: Int) -> [OperationInfo] {
    OperationInfo.list(of: engine.handle, atMost: count)
  }
}
