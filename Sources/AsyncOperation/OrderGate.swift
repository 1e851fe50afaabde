import Foundation

/// A dependency that ends when it is opened: it keeps an order that is not a dependency on one
/// particular operation.
///
/// It is in no queue and retains nobody. Searches for rings see the operation that it stands for.
package final class OrderGate: AsyncOperation, @unchecked Sendable {
  // Safe to share: `precursor` is a weak reference, which may be read while its object goes away.

  /// The operation whose end, or a later one's end, opens the gate.
  private weak let precursor: Operation?

  package init(after precursor: Operation) {
    self.precursor = precursor
    super.init()
    name = "the order of a list"
  }

  /// Lets its dependents go on.
  package func open() {
    finish()
    start()
  }

  override var announcedDependencies: [Operation] { precursor.map { [$0] } ?? [] }
}
