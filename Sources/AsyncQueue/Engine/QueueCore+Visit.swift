import Inturn

/// Bodies that run in their caller, on a queue that has nothing else to do. `@usableFromInline`
/// lets the caller's compiler see the body.
extension QueueCore {
  /// Runs a body in the calling task, in its turn.
  @inlinable
  @inline(__always)
  func run<Value, Failure: Error>(
    isolation: isolated (any Actor)?, _ fileID: StaticString, _ line: UInt,
    _ body: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    guard let frame = beginVisit(canThrow: Failure.self != Never.self) else {
      return try await runInTurn(isolation: isolation, options: nil, fileID, line, body)
    }
    switch await frame.bind(isolation: isolation, body) {
    case .success(let value):
      end(visit: frame)
      endVisit()
      return value
    case .failure(let error):
      end(visit: frame)
      endVisit(error)
      throw error
    }
  }

  /// Nil when the queue is not free or the task is cancelled; the caller then goes the long way.
  @usableFromInline
  func beginVisit(canThrow: Bool) -> Frame? {
    if !beginSection(canThrow: canThrow) { return nil }
    // A FIFO queue has one visit at a time.
    return kind == .fifo ? visitFrame : Frame(of: .init(of: queue))
  }

  @usableFromInline
  func end(visit frame: Frame) { if kind != .fifo { frame.giveBack() } }

  /// The same for a body that does not suspend. It cannot wait for anything, so it needs no frame.
  @usableFromInline
  func beginSection(canThrow: Bool) -> Bool {
    if canThrow && Task.isCancelled { return false }
    return interests.load(ordering: .relaxed) & Interest.events == 0 && Engine.enter(queue)
  }

  @usableFromInline
  func endVisit() {
    Engine.leave(queue, as: .finished)
    progressed()
  }

  @usableFromInline
  func endVisit(_ error: any Error) {
    Engine.leave(queue, as: Outcome(of: error))
    progressed()
  }
}
