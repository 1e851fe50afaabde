/// A value that is read and changed under a lock, in a few dozen instructions: nothing is called or
/// waited for meanwhile.
///
/// `Synchronization.Mutex` would do the same, but under contention it locks inside the toolchain's
/// library, which ThreadSanitizer does not see: it would report races in programs that have none.
package final class Locked<Value>: @unchecked Sendable {
  // Safe to share: `lock` protects `value`.

  private let lock = BriefLock()
  @exclusivity(unchecked) private var value: Value

  package init(_ value: Value) { self.value = value }

  package func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
    lock.lock()
    defer { lock.unlockAfterReadingObject() }
    return body(&value)
  }
}
