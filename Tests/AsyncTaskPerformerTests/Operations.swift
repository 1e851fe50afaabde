import AsyncTaskPerformer
import Foundation
import TestSupport

/// An operation of a list, whose work calls a closure.
final class Member: AsyncOperationWithCompletion<Int>, @unchecked Sendable {
  // Safe to share: `work` is not changed.

  let mains = Counter()
  private let work: @Sendable (Member) -> Void

  init(_ work: @escaping @Sendable (Member) -> Void) { self.work = work }

  override func main() {
    mains.up()
    work(self)
  }

  /// What the documentation asks for: the completion, then the end.
  func report(_ value: Int?, _ error: (any Error)? = nil) {
    completion?(value, error)
    finish()
  }
}

struct Failure: Error, Equatable {
  let number: Int
}

/// What a completion was called with, for comparisons.
func text(_ value: Int?, _ error: (any Error)?) -> String {
  switch (value, error) {
  case (let value?, nil): "\(value)"
  case (nil, let failure as Failure): "failure \(failure.number)"
  case (nil, let error?): "\(error)"
  case (nil, nil): "neither"
  case (_?, _?): "both"
  }
}

/// Whether the caller is on the main queue, which need not be drained by the main thread.
enum MainQueue {
  private static let key = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// To be called before the question makes sense.
  static func begin() { _ = key }

  static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }
}
