import Inturn

/// Work that is called once at most, and released then or before.
final class OneTimeWork: @unchecked Sendable {
  // Safe to share: `lock` protects `work`, which one thread takes out and calls.

  private let lock = BriefLock()
  @exclusivity(unchecked) private var work: ((FinishToken) -> Void)?

  init(_ work: sending @escaping (FinishToken) -> Void) { self.work = work }

  func call(with operation: AsyncOperation) {
    guard let work = take() else { return }
    work(operation.makeFinishToken())
  }

  func letGo() { _ = take() }

  private func take() -> ((FinishToken) -> Void)? {
    lock.withLock {
      let taken = work
      work = nil
      return taken
    }
  }
}
