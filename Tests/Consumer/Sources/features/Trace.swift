import Foundation

/// What has been done, in order.
final class Trace: @unchecked Sendable {
  // Safe to share: `lock` protects `words`.
  private let lock = NSLock()
  private var words = ""

  func say(_ word: String) { lock.withLock { words += word } }
  var text: String { lock.withLock { words } }
}
