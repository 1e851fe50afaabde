import InturnCore

/// Pulls changes from a mailbox for the reader of a sequence.
final class ValuePuller<T: Sendable>: Sendable {
  private let trail: Trail<T>
  /// Zero when the value was gone from the start.
  private let id: UInt64
  private let port = PullPort()

  init(_ trail: Trail<T>, _ manner: TrailManner) {
    self.trail = trail
    let port = port
    let observer = TrailObserver<T>(call: { _ in }) { _, _ in
      port.signal()
      return true
    }
    id = trail.observe(manner, observer)?.id ?? 0
  }

  deinit { _ = trail.cancel(id, timeoutNanoseconds: 0) }

  func next(isolation: isolated (any Actor)? = #isolation) async -> TrailEntry<T>? {
    while !Task.isCancelled {
      switch trail.pull(id) {
      case .entry(let entry): return entry
      case .end: return nil
      case .nothing: await port.wait()
      }
    }
    return nil
  }
}

/// Where a task waits until there is something to take.
final class PullPort: Sendable {
  private enum State {
    case idle
    /// Signalled, and nobody has waited since.
    case signalled
    case waiting(CheckedContinuation<Void, Never>)
  }

  private let state = Locked(State.idle)

  func signal() {
    let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard case .waiting(let continuation) = state else {
        state = .signalled
        return nil
      }
      state = .idle
      return continuation
    }
    waiting?.resume()
  }

  /// Returns after a signal, or when the task is cancelled.
  func wait(isolation: isolated (any Actor)? = #isolation) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isDue = state.withLock { state -> Bool in
          switch state {
          case .signalled:
            state = .idle
            return true
          case .idle:
            state = .waiting(continuation)
            return false
          case .waiting:
            fatalError(
              "A sequence of a value's changes is for one task; make another one for another task.")
          }
        }
        if isDue { continuation.resume() }
      }
    } onCancel: {
      signal()
    }
  }
}
