/// A function of the program's. Its context is released with the last reference, so without a lock,
/// and never during a call.
package final class Callback<Argument>: Sendable {
  private let call: @Sendable (Argument) -> Void
  private let onRelease: @Sendable () -> Void

  package init(
    call: @escaping @Sendable (Argument) -> Void, onRelease: @escaping @Sendable () -> Void = {}
  ) {
    self.call = call
    self.onRelease = onRelease
  }

  deinit { onRelease() }

  func callAsFunction(_ argument: Argument) { call(argument) }
  func callAsFunction() where Argument == Void { call(()) }
}
