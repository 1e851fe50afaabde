internal import InturnCore

/// An async closure in two words, as the engine keeps it while it is pending: no allocation is
/// needed beyond the closure's own context.
struct PlainClosure {
  typealias Function = @Sendable () async -> Void

  /// Keeps the function as it is: a bare one would be wrapped where a generic type is expected.
  private struct Holder {
    let function: Function
  }

  /// The function, and its context, whose reference is this value's, with a priority's tag in the
  /// lowest bits. They are zero in the address of any object.
  let work: UInt
  let context: UInt

  init(work: UInt, context: UInt) {
    self.work = work
    self.context = context
  }

  @inline(__always)
  init(_ function: @escaping Function, _ priority: PlainPriority) {
    // What is put into memory and never taken out of it keeps its reference.
    let words = withUnsafeTemporaryAllocation(of: Holder.self, capacity: 1) { memory in
      memory.initializeElement(at: 0, to: Holder(function: function))
      return UnsafeRawPointer(memory.baseAddress!).loadUnaligned(as: (UInt, UInt).self)
    }
    work = words.0
    context = words.1 | priority.tag
  }

  /// The closure, with the reference that this value had.
  @inline(__always)
  func take() -> Function {
    withUnsafeTemporaryAllocation(of: Holder.self, capacity: 1) { memory in
      UnsafeMutableRawPointer(memory.baseAddress!).storeBytes(
        of: (work, context & ~LaneDrainer.tagMask), as: (UInt, UInt).self)
      return memory.moveElement(from: 0).function
    }
  }

  /// Gives the reference of one up that is never called. It needs the context only.
  static let destroy: RawDestroy = { context in
    let object = UnsafeRawPointer(
      bitPattern: UInt(bitPattern: context) & ~LaneDrainer.tagMask)
    if let object { Unmanaged<AnyObject>.fromOpaque(object).release() }
  }
}
