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

/// What an end looks like in a comparison.
extension AsyncOperation.End {
  var text: String {
    switch self {
    case .finished: "finished"
    case .failed(let error): "failed(\((error as? Failure).map { String($0.number) } ?? "?"))"
    case .cancelled: "cancelled"
    case .abandoned: "abandoned"
    }
  }
}

extension AsyncOperation.State {
  var text: String {
    switch self {
    case .pending: "pending"
    case .running: "running"
    case .ended(let end): end.text
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
    let observation = observeState { if $0.isEnded { signal.raise() } }
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
