import InturnCore

/// Sends elements to all readers, in the order in which they are staged.
package final class Broadcast<Element: Sendable>: @unchecked Sendable {
  // Safe to share: `lock` protects the rest.

  private typealias Reader = AsyncStream<Element>.Continuation

  /// Protects everything below. No reader is called or released while it is held.
  private let lock = BriefLock()
  @exclusivity(unchecked) private var readers: [Int: Reader] = [:]
  @exclusivity(unchecked) private var count = 0
  @exclusivity(unchecked) private var isFinished = false
  /// What is to be sent, and to whom; nil for the end.
  @exclusivity(unchecked) private var staged: [(element: Element?, readers: [Reader])] = []
  @exclusivity(unchecked) private var isDelivering = false

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

  package func send(_ element: Element) {
    stage(element)
    deliver()
  }

  /// Decides what the present readers get next. May be called under a lock of the caller's, who calls
  /// `deliver` after releasing it.
  package func stage(_ element: Element) {
    lock.withLock { if !readers.isEmpty { staged.append((element, Array(readers.values))) } }
  }

  /// Sends what is staged. One thread at a time does so, and also sends what others stage meanwhile:
  /// a reader's executor may run the reader on the spot, which may use the queue.
  package func deliver() {
    let isDeliverer = lock.withLock {
      defer { isDelivering = true }
      return !isDelivering
    }
    if !isDeliverer { return }
    while true {
      let next = lock.withLock {
        defer { staged = [] }
        isDelivering = !staged.isEmpty
        return staged
      }
      if next.isEmpty { return }
      for (element, readers) in next {
        for reader in readers {
          if let element { reader.yield(element) } else { reader.finish() }
        }
      }
    }
  }

  package func finish() {
    lock.withLock {
      isFinished = true
      staged.append((nil, Array(readers.values)))
      readers = [:]
    }
    deliver()
  }
}
