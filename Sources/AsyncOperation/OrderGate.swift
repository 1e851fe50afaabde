import Foundation

/// Something to depend on that ends when it is opened: it keeps an order that is no dependency on
/// an operation as such.
///
/// It is in no queue and holds nobody. Searches for rings see what it stands for.
package final class OrderGate: AsyncOperation, @unchecked Sendable {
  // Safe to share: `precursor` is a weak reference, which may be read while its object goes away.

  /// The operation whose end, or that of a later one, opens the gate.
  private weak let precursor: Operation?

  package init(after precursor: Operation) {
    self.precursor = precursor
    super.init()
    name = "the order of a list"
  }

  /// Lets those go on that depend on it.
  package func open() {
    finish()
    start()
  }

  override var announcedDependencies: [Operation] { precursor.map { [$0] } ?? [] }
}
