import InturnCore

/// What an operation has ended with. The engine keeps it for those that have joined the operation.
package class OutcomeBox: @unchecked Sendable {
  // Safe to share: the subclasses have constants only.

  static let drop: RawDestroy = { Unmanaged<OutcomeBox>.fromOpaque($0!).release() }

  /// A context with a reference, which `drop` gives back.
  var asContext: UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }
}

package final class ValueBox<Value: Sendable>: OutcomeBox, @unchecked Sendable {
  // Safe to share: the value is a constant.

  package let value: Value
  package init(_ value: Value) { self.value = value }
}

final class ErrorBox: OutcomeBox, @unchecked Sendable {
  // Safe to share: the error is a constant.

  let error: any Error
  init(_ error: any Error) { self.error = error }
}
