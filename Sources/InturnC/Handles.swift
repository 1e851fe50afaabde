import CInturn
import InturnCore

// Both are one 64-bit number. Unlike an initialiser in another module, this costs nothing.
extension Handle {
  @inline(__always) init(_ handle: inturn_queue) { self = unsafeBitCast(handle, to: Handle.self) }
  @inline(__always) init(_ handle: inturn_operation) {
    self = unsafeBitCast(handle, to: Handle.self)
  }
  @inline(__always) init(_ handle: inturn_token) { self = unsafeBitCast(handle, to: Handle.self) }
  @inline(__always) init(_ handle: inturn_owner) { self = unsafeBitCast(handle, to: Handle.self) }
  @inline(__always) init(_ handle: inturn_batch) { self = unsafeBitCast(handle, to: Handle.self) }
  @inline(__always) init(_ handle: inturn_executor) {
    self = unsafeBitCast(handle, to: Handle.self)
  }
  @inline(__always) init(_ handle: inturn_value) { self = unsafeBitCast(handle, to: Handle.self) }
  @inline(__always) init(_ handle: inturn_observation) {
    self = unsafeBitCast(handle, to: Handle.self)
  }
  @inline(__always) init(_ handle: inturn_clock) { self = unsafeBitCast(handle, to: Handle.self) }
}

extension Status {
  var isOK: Bool { rawValue == 0 }
}

/// The engine's form of work. In the calling conventions of x86-64 and arm64, a struct of one
/// 64-bit number is passed like that number.
@inline(__always)
func rawWork(_ work: inturn_work_fn?) -> RawWork? { unsafeBitCast(work, to: RawWork?.self) }

@inline(__always)
func rawCancelHandler(_ handler: inturn_cancel_fn?) -> RawWork? {
  unsafeBitCast(handler, to: RawWork?.self)
}

/// A context with its destroy function, for objects of the engine that are released.
struct CallbackContext: @unchecked Sendable {
  // Safe to send: the header says that callbacks come from any thread.
  let context: UnsafeMutableRawPointer?
  let destroy: inturn_destroy_fn?

  func release() { destroy?(context) }
}

/// The caller's array, of which nothing has been read; nil when it is invalid, or has more elements
/// than anybody can mean.
@inline(__always)
func array<Element>(
  _ start: UnsafePointer<Element>?, _ count: Int, most: Int
) -> UnsafeBufferPointer<Element>? {
  guard 0...most ~= count, start != nil || count == 0 else { return nil }
  return UnsafeBufferPointer(start: start, count: count)
}

extension inturn_operation_options {
  /// The operations that this one depends on: no more than can exist at a time.
  @inline(__always)
  var earlier: UnsafeBufferPointer<Handle>? {
    // Both are one 64-bit number.
    array(
      UnsafeRawPointer(after)?.assumingMemoryBound(to: Handle.self), after_count,
      most: Engine.maximumOperations)
  }
}

/// A name, key or reason; nil when it is NULL or not UTF-8.
func name(_ text: UnsafePointer<CChar>?) -> UnsafePointer<CChar>? {
  isValidLabel(text) ? text : nil
}

/// Whether a label is NULL or UTF-8.
func isValidLabel(_ label: UnsafePointer<CChar>?) -> Bool {
  guard let label else { return true }
  return isUTF8(label, strlen(label))
}
