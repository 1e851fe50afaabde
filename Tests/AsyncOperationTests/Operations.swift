import AsyncOperation
import Foundation
import TestSupport

/// An operation of a subclass: its work calls a closure, and any holder of the operation ends it.
final class Subclass: AsyncOperation, @unchecked Sendable {
  // Safe to share: `work` never changes.

  let mains = Counter()
  private let work: @Sendable (Subclass) -> Void

  init(_ work: @escaping @Sendable (Subclass) -> Void = { _ in }) { self.work = work }

  override func main() {
    mains.up()
    work(self)
  }
}

/// An error that tests can recognise.
struct Failure: Error, Equatable {
  let number: Int
}

extension OperationEnd {
  /// An end as text, for comparisons.
  var text: String {
    if outcome == .failed {
      return "failed(\((error as? Failure).map { String($0.number) } ?? "?"))"
    }
    return cause.map { "\(outcome)(\($0))" } ?? "\(outcome)"
  }
}

extension AsyncOperation {
  /// The state, or the end, as text for comparisons.
  var text: String { end?.text ?? "\(state)" }

  /// Calls a handler with each state, and with the end as the last one.
  func observe(_ handler: @escaping @Sendable (String) -> Void) -> ValueObservation {
    observedState.observe(.initial) { [weak self] change in
      handler(change.new == .ended ? self?.end?.text ?? "gone" : "\(change.new)")
    }
  }
}

/// Thrown if an operation does not end within the limit.
struct NoEnd: Error {
  let what: String
}

extension AsyncOperation {
  /// The operation's end, within the limit.
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
