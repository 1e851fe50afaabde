import InturnCore

/// The result of an operation. The engine keeps it for operations that have joined this one.
package class OutcomeBox: @unchecked Sendable {
  // Safe to share: the subclasses have constants only.

  package static let drop: RawDestroy = { Unmanaged<OutcomeBox>.fromOpaque($0!).release() }

  /// A context that holds a reference, which `drop` releases.
  package var asContext: UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

  /// The engine's report of an end, and the box that is its result.
  package static func open(_ end: InturnCore.OperationEnd) -> (OperationEnd, OutcomeBox?) {
    var box: OutcomeBox?
    if end.outcome == .finished || end.outcome == .failed, let result = end.result {
      box = Unmanaged<OutcomeBox>.fromOpaque(result).takeUnretainedValue()
    }
    // Each failure has an error.
    let error = end.outcome == .failed ? (box as! ErrorBox).error : nil
    return (OperationEnd(end.outcome, end.cause, error: error), box)
  }
}

package final class ValueBox<Value: Sendable>: OutcomeBox, @unchecked Sendable {
  // Safe to share: the value is a constant.

  package let value: Value
  package init(_ value: Value) { self.value = value }
}

package final class ErrorBox: OutcomeBox, @unchecked Sendable {
  // Safe to share: the error is a constant.

  let error: any Error
  package init(_ error: any Error) { self.error = error }
}
