import Foundation

/// Threads of the system, outside of tasks.
package enum Threads {
  /// It is detached from the start. AddressSanitizer takes one that is detached later for one that may
  /// still be joined, so that it does not find what another thread refers to that gets its number.
  package static func run(_ body: @escaping @Sendable () -> Void) {
    Thread.detachNewThread(body)
  }
}
