import AsyncTaskPerformer
import Foundation
import TestSupport

/// An operation of a list, whose work calls a closure.
final class Member: AsyncOperationWithCompletion<Int>, @unchecked Sendable {
  // Safe to share: `work` never changes.

  let mains = Counter()
  private let work: @Sendable (Member) -> Void

  init(_ work: @escaping @Sendable (Member) -> Void) { self.work = work }

  override func main() {
    mains.up()
    work(self)
  }

  /// What the documentation requires: the completion, then the end.
  func report(_ value: Int?, _ error: (any Error)? = nil) {
    completion?(value, error)
    finish()
  }
}

struct Failure: Error, Equatable {
  let number: Int
}

/// The arguments of a completion as text, for comparisons.
func text(_ value: Int?, _ error: (any Error)?) -> String {
  switch (value, error) {
  case (let value?, nil): "\(value)"
  case (nil, let failure as Failure): "failure \(failure.number)"
  case (nil, let error?): "\(error)"
  case (nil, nil): "neither"
  case (_?, _?): "both"
  }
}

/// Whether the caller is on the main queue, which the main thread need not drain.
enum MainQueue {
  private static let key = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// Has to be called before the property is read.
  static func begin() { _ = key }

  static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }
}
