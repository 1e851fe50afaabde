internal import InturnCore

/// Operations of an actor's queue.
extension QueueCore {
  /// Adds an operation. Nil when there is no actor.
  @inline(__always)
  func add<ActorType: Actor>(
    _ limits: OperationLimits?, on pin: ActorPin<ActorType>,
    _ task: @escaping @Sendable (isolated ActorType) async -> Void
  ) -> Status? {
    if limits == nil, let plain = plainPriority(nil) {
      if !pin.pin() { return nil }
      let bits = ActorJob.bits(JobOnActor(pin, task), plain)
      let status = Engine.enqueuePlain(
        queue, work: ActorJob.work, context: bits, destroy: ActorJob.destroy)
      if status != .ok { ActorJob.destroy(UnsafeMutableRawPointer(bitPattern: bits)) }
      return status
    }
    guard let actor = pin.actor else { return nil }
    return enqueueTurn(limits) { turn in
      Task { try? await turn.perform(on: actor, task) }
    }
  }

  /// Runs a body in the calling task, on the actor.
  func run<ActorType: Actor, Value, Failure: Error>(
    on actor: isolated ActorType, _ file: StaticString, _ line: UInt,
    _ body: (isolated ActorType) async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    try await run(isolation: actor, file, line) { () async throws(Failure) -> Value in
      try await body(actor)
    }
  }
}
