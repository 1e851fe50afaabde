/// A value that is read and changed under a lock, in a few dozen instructions: nothing is called and
/// nothing waited for meanwhile.
///
/// `Synchronization.Mutex` would do the same, but where threads meet, it locks inside the toolchain's
/// library, of which ThreadSanitizer sees nothing: programs that use these modules would be told of
/// races that they do not have.
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
