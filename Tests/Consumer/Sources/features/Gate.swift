import Foundation

/// Holds whoever waits until it is opened, cancelled or not.
final class Gate: @unchecked Sendable {
  // Safe to share: `lock` protects the rest.
  private let lock = NSLock()
  private var isOpen = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func wait() async {
    await withCheckedContinuation { continuation in
      let goesOn = lock.withLock {
        if !isOpen { waiting.append(continuation) }
        return isOpen
      }
      if goesOn { continuation.resume() }
    }
  }

  func open() {
    let all = lock.withLock {
      defer { waiting = [] }
      isOpen = true
      return waiting
    }
    for one in all { one.resume() }
  }
}
