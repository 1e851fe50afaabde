internal import InturnCore

/// A plain operation of an actor's queue: its body, and what keeps its actor alive until then.
class ActorJob: @unchecked Sendable {
  // Safe to share: nothing of it changes.

  /// What a lane's job carries: the object, retained, and its priority's tag.
  static func bits(_ job: ActorJob, _ priority: PlainPriority) -> UInt {
    UInt(bitPattern: Unmanaged.passRetained(job).toOpaque()) | priority.tag
  }

  static let destroy: RawDestroy = { reference(UInt(bitPattern: $0)).release() }

  /// Says that the context is all that there is.
  static var work: UInt { 1 }

  /// Looks at a job that stays where it is.
  static func of(_ bits: UInt) -> ActorJob { reference(bits).takeUnretainedValue() }

  @inline(__always)
  static func take<ActorType: Actor>(
    _ bits: UInt, as _: ActorType.Type
  ) -> JobOnActor<ActorType> {
    unsafeDowncast(reference(bits).takeRetainedValue(), to: JobOnActor<ActorType>.self)
  }

  @inline(__always)
  private static func reference(_ bits: UInt) -> Unmanaged<ActorJob> {
    .fromOpaque(UnsafeRawPointer(bitPattern: bits & ~LaneDrainer.tagMask).unsafelyUnwrapped)
  }

  /// Starts a session on the job's actor.
  func start(_ session: DrainSession, _ turn: OutsideExecutor.Turn) {
    fatalError("a subclass says how")
  }
}

final class JobOnActor<ActorType: Actor>: ActorJob, @unchecked Sendable {
  // Safe to share: as its superclass.

  typealias Body = @Sendable (isolated ActorType) async -> Void

  private let pin: ActorPin<ActorType>
  let body: Body

  /// The actor is pinned; this is the one to unpin it.
  init(_ pin: ActorPin<ActorType>, _ body: @escaping Body) {
    self.pin = pin
    self.body = body
  }

  deinit { pin.unpin() }

  override func start(_ session: DrainSession, _ turn: OutsideExecutor.Turn) {
    guard let actor = pin.actor else { fatalError("a pinned actor is gone") }
    session.adopt(
      Task.detached(priority: session.priority.task) { await session.runJobs(on: actor, turn) })
  }
}
