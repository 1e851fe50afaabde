import InturnCore

/// Sends elements to all readers.
package final class Broadcast<Element: Sendable>: @unchecked Sendable {
  // Safe to share: `lock` protects the rest.

  private typealias Reader = AsyncStream<Element>.Continuation

  /// Protects everything below. No reader is called or released while it is held.
  private let lock = BriefLock()
  @exclusivity(unchecked) private var readers: [Int: Reader] = [:]
  @exclusivity(unchecked) private var count = 0
  @exclusivity(unchecked) private var isFinished = false

  package init() {}

  /// The elements that are sent from now on. `keeping` says which of them are kept for a slow
  /// reader. `begun` and `isUnused` are called under the lock, with the first and the last reader.
  package func stream(
    keeping policy: AsyncStream<Element>.Continuation.BufferingPolicy,
    begun: (_ isFirst: Bool) -> Void = { _ in }, isUnused: @escaping @Sendable () -> Void = {}
  ) -> AsyncStream<Element> {
    let (stream, reader) = AsyncStream<Element>.makeStream(bufferingPolicy: policy)
    let number = lock.withLock { () -> Int? in
      if isFinished { return nil }
      begun(readers.isEmpty)
      count += 1
      readers[count] = reader
      return count
    }
    guard let number else {
      reader.finish()
      return stream
    }
    reader.onTermination = { [weak self] _ in self?.forget(number, isUnused) }
    return stream
  }

  private func forget(_ number: Int, _ isUnused: () -> Void) {
    _ = lock.withLock {
      defer { if readers.isEmpty { isUnused() } }
      return readers.removeValue(forKey: number)
    }
  }

  /// Concurrent calls have no defined order.
  package func send(_ element: Element) {
    for reader in lock.withLock({ Array(readers.values) }) { reader.yield(element) }
  }

  package func finish() {
    let all = lock.withLock {
      isFinished = true
      defer { readers = [:] }
      return readers
    }
    for reader in all.values { reader.finish() }
  }
}
