import Foundation

/// A value behind a lock that ThreadSanitizer knows, unlike that of `Synchronization`.
package final class Protected<Value>: @unchecked Sendable {
  // Safe to share: `lock` protects `value`.

  private let lock = NSLock()
  private var value: Value

  package init(_ value: Value) { self.value = value }

  package func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return body(&value)
  }
}
