import Inturn

/// An async closure in two words, as the engine keeps it while it is pending: it needs no
/// allocation beyond the closure's own context.
struct PlainClosure {
  typealias Function = @Sendable () async -> Void
  typealias MainFunction = @Sendable @MainActor () async -> Void
  typealias ActorFunction<ActorType: Actor> = @Sendable (isolated ActorType) async -> Void

  // Holders keep the functions as they are: a bare function would be wrapped where a generic type
  // is expected.
  private struct Holder { let function: Function }
  private struct MainHolder { let function: MainFunction }
  private struct ActorHolder<ActorType: Actor> { let function: ActorFunction<ActorType> }

  /// The function, and its context with a priority's tag in the lowest bits, which are zero in any
  /// object's address. This value owns a reference of the context.
  let work: UInt
  let context: UInt

  init(work: UInt, context: UInt) {
    self.work = work
    self.context = context
  }

  @inline(__always)
  init(_ function: @escaping Function, _ priority: PlainPriority) {
    self.init(holding: Holder(function: function), priority)
  }

  @inline(__always)
  init(main function: @escaping MainFunction, _ priority: PlainPriority) {
    self.init(holding: MainHolder(function: function), priority)
  }

  @inline(__always)
  init<ActorType: Actor>(
    _ function: @escaping ActorFunction<ActorType>, _ priority: PlainPriority
  ) {
    self.init(holding: ActorHolder(function: function), priority)
  }

  @inline(__always)
  private init<AnyHolder>(holding holder: AnyHolder, _ priority: PlainPriority) {
    // A value that is stored in memory and never taken out keeps its reference.
    let words = Self.withMemory { memory in
      memory.assumingMemoryBound(to: AnyHolder.self).initialize(to: holder)
      return memory.load(as: (UInt, UInt).self)
    }
    work = words.0
    context = words.1 | priority.tag
  }

  // MARK: The closure, with the reference that this value had

  @inline(__always)
  func take() -> Function { holder(Holder.self).function }

  @inline(__always)
  func takeMain() -> MainFunction { holder(MainHolder.self).function }

  @inline(__always)
  func take<ActorType: Actor>(for _: ActorType.Type) -> ActorFunction<ActorType> {
    holder(ActorHolder<ActorType>.self).function
  }

  @inline(__always)
  private func holder<AnyHolder>(_: AnyHolder.Type) -> AnyHolder {
    Self.withMemory { memory in
      memory.storeBytes(of: (work, context & ~LaneDrainer.tagMask), as: (UInt, UInt).self)
      return memory.assumingMemoryBound(to: AnyHolder.self).move()
    }
  }

  /// Room for two words. Not of a holder's type, which the runtime would look up each time if it is
  /// generic.
  @inline(__always)
  private static func withMemory<Result>(_ body: (UnsafeMutableRawPointer) -> Result) -> Result {
    withUnsafeTemporaryAllocation(
      byteCount: MemoryLayout<(UInt, UInt)>.size, alignment: MemoryLayout<UInt>.alignment
    ) { body($0.baseAddress!) }
  }

  /// Enqueues the closure, or releases it when the queue refuses it.
  @inline(__always)
  func enqueue(_ queue: Handle, at site: Site) -> Status {
    let status = Engine.enqueuePlain(
      queue, at: site, work: work, context: context, destroy: Self.destroy)
    if status != .ok { Self.destroy(UnsafeMutableRawPointer(bitPattern: context)) }
    return status
  }

  /// Releases a closure that is never called. Needs only the context.
  private static let destroy: RawDestroy = { context in
    let object = UnsafeRawPointer(
      bitPattern: UInt(bitPattern: context) & ~LaneDrainer.tagMask)
    if let object { Unmanaged<AnyObject>.fromOpaque(object).release() }
  }
}
