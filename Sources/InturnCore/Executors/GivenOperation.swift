/// An operation that was started and given to the host rather than called.
package struct GivenOperation {
  /// Owned by the host: the engine does not destroy it.
  package let context: UnsafeMutableRawPointer?
  package let token: Handle
}
