import AsyncOperation
import Foundation
import TestSupport

/// An operation of a subclass: its work calls a closure, and whoever has the operation ends it.
final class Subclass: AsyncOperation, @unchecked Sendable {
  // Safe to share: `work` is not changed.

  let mains = Counter()
  private let work: @Sendable (Subclass) -> Void

  init(_ work: @escaping @Sendable (Subclass) -> Void = { _ in }) { self.work = work }

  override func main() {
    mains.up()
    work(self)
  }
}

/// An error that a test knows again.
struct Failure: Error, Equatable {
  let number: Int
}

extension OperationEnd {
  /// What an end looks like in a comparison.
  var text: String {
    if outcome == .failed {
      return "failed(\((error as? Failure).map { String($0.number) } ?? "?"))"
    }
    return cause.map { "\(outcome)(\($0))" } ?? "\(outcome)"
  }
}

extension AsyncOperation {
  /// Where it is, and how it ended, in a comparison.
  var text: String { end?.text ?? "\(state)" }

  /// Calls a handler with what it is told of: the state, and at the end the end.
  func observe(_ handler: @escaping @Sendable (String) -> Void) -> ValueObservation {
    observedState.observe(.initial) { [weak self] change in
      handler(change.new == .ended ? self?.end?.text ?? "gone" : "\(change.new)")
    }
  }
}

/// The limit for an operation's end.
struct NoEnd: Error {
  let what: String
}

extension AsyncOperation {
  /// How the operation ends, within the limit.
  func endInTime() async throws -> String {
    let signal = Signal()
    let observation = observedState.observe(.initial) { if $0.new == .ended { signal.raise() } }
    defer { observation.cancel() }
    guard await signal.wait() else { throw NoEnd(what: "the end of \(self)") }
    return end!.text
  }
}

extension OperationQueue {
  /// Adds operations, without waiting for them.
  func add(_ operations: [Operation]) {
    for operation in operations { addOperation(operation) }
  }
}
