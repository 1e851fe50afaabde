import Inturn

/// Operations of an actor's queue.
extension QueueCore {
  /// Adds an operation. Nil when there is no actor.
  @inline(__always)
  func add<ActorType: Actor>(
    on pin: ActorPin<ActorType>, at site: Site,
    _ task: @escaping PlainClosure.ActorFunction<ActorType>
  ) -> Status? {
    if let plain = plainPriority(nil) {
      if !pin.enqueueBegins() { return nil }
      let status = PlainClosure(task, plain).enqueue(queue, at: site)
      pin.enqueueEnds(self, isRefused: status != .ok)
      return status
    }
    guard let actor = pin.actor else { return nil }
    return enqueueTurn(at: site) { turn in
      Task { try? await turn.perform(on: actor, task) }
    }
  }

  /// The same on the main actor's own queues, whose operations take no parameter.
  @inline(__always)
  func addOnMainActor(
    _ task: @escaping PlainClosure.MainFunction, at site: Site
  ) -> Status {
    if let plain = plainPriority(nil) {
      return PlainClosure(main: task, plain).enqueue(queue, at: site)
    }
    return enqueueTurn(at: site) { turn in
      Task { @MainActor in try? await turn.perform { await task() } }
    }
  }

  /// Runs a body in the calling task, on the actor.
  func run<ActorType: Actor, Value, Failure: Error>(
    on actor: isolated ActorType, _ fileID: StaticString, _ line: UInt,
    _ body: (isolated ActorType) async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    try await run(isolation: actor, fileID, line) { () async throws(Failure) -> Value in
      try await body(actor)
    }
  }
}
