internal import InturnCore

/// Sessions of an actor's queue: operations run in the session's task, each up to its end.
///
/// Before it begins, a session puts another one, its relay, at the actor's door. As long as
/// operations do not suspend, the relay waits there, since the actor is taken. When one does, the
/// actor is free, the relay comes in, finds that its session has not ended, and goes on with the
/// next operation; what has suspended keeps the session's task for itself. So an operation costs no
/// task unless it suspends, and the next one begins when it does.
extension DrainSession {
  /// Runs the session from its beginning.
  func runJobs<ActorType: Actor>(
    on actor: isolated ActorType, _ turn: OutsideExecutor.Turn
  ) async {
    await runJobs(on: actor, of: LaneDrainer(turn))
  }

  private func runJobs<ActorType: Actor>(
    on actor: isolated ActorType, of drainer: LaneDrainer
  ) async {
    core.begin(self)
    sendRelay(to: actor, drainer)
    for _ in 0..<Self.operationsInARow {
      let step = drainer.next(tag: RuntimeTask.isCancelled ? nil : priority.tag)
      guard case .plain(_, let context, let token) = step else {
        state = .done
        core.end(self)
        _ = core.handle(step, of: drainer)
        core.progressed()
        return
      }
      core.progressed()
      await Self.run(ActorJob.take(context, as: ActorType.self), on: actor)
      _ = Engine.end(token, as: .finished)
      if case .displaced = state {
        core.forgetDisplaced(self)
        core.progressed()
        return
      }
      drainer.plainReturned()
    }
    core.end(self)
    state = .handedOver
  }

  /// When it has returned, the job is gone.
  @inline(__always)
  private static func run<ActorType: Actor>(
    _ job: consuming JobOnActor<ActorType>, on actor: isolated ActorType
  ) async {
    await job.body(actor)
  }

  private func sendRelay<ActorType: Actor>(to actor: isolated ActorType, _ drainer: LaneDrainer) {
    let relay = DrainSession(core, priority)
    relay.adopt(
      Task(priority: priority.task) {
        // Isolated to the actor because it uses the parameter: it goes straight to its door.
        _ = actor
        await relay.takeOver(from: self, on: actor, drainer)
      })
  }

  private func takeOver<ActorType: Actor>(
    from session: DrainSession, on actor: isolated ActorType, _ drainer: LaneDrainer
  ) async {
    switch session.state {
    case .done, .displaced: return
    case .handedOver: session.state = .done
    case .running:
      session.state = .displaced
      core.noteDisplaced(session)
      drainer.plainReturned()
    }
    await runJobs(on: actor, of: drainer)
  }
}
