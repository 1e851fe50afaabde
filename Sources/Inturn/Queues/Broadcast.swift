import InturnCore

/// Sends elements to all readers.
final class Broadcast<Element: Sendable>: @unchecked Sendable {
  // Safe to share: `lock` protects the rest.

  private typealias Reader = AsyncStream<Element>.Continuation

  /// Protects everything below. No reader is called or released while it is held.
  private let lock = BriefLock()
  @exclusivity(unchecked) private var readers: [Int: Reader] = [:]
  @exclusivity(unchecked) private var count = 0
  @exclusivity(unchecked) private var isFinished = false

  /// The elements that are sent from now on. `keeping` says which of them are kept for a slow
  /// reader.
  func stream(
    keeping policy: AsyncStream<Element>.Continuation.BufferingPolicy
  ) -> AsyncStream<Element> {
    let (stream, reader) = AsyncStream<Element>.makeStream(bufferingPolicy: policy)
    let number = lock.withLock { () -> Int? in
      if isFinished { return nil }
      count += 1
      readers[count] = reader
      return count
    }
    guard let number else {
      reader.finish()
      return stream
    }
    reader.onTermination = { [weak self] _ in self?.forget(number) }
    return stream
  }

  private func forget(_ number: Int) {
    let reader = lock.withLock { readers.removeValue(forKey: number) }
    withExtendedLifetime(reader) {}
  }

  /// Concurrent calls have no defined order.
  func send(_ element: Element) {
    for reader in lock.withLock({ Array(readers.values) }) { reader.yield(element) }
  }

  func finish() {
    let all = lock.withLock {
      isFinished = true
      defer { readers = [:] }
      return readers
    }
    for reader in all.values { reader.finish() }
  }
}
