/// An operation that has started, and was given to the host instead of its work being called.
package struct GivenOperation {
  /// The host's: the engine destroys it no more.
  package let context: UnsafeMutableRawPointer?
  package let token: Handle
}
