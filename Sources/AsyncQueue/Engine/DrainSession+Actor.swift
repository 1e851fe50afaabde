import Inturn

/// Sessions of an actor's queue, whose operations run in the session's task.
///
/// Before it begins, a session sends another one, its relay, to the actor. While operations do not
/// suspend, the actor is taken and the relay waits for it. When an operation suspends, the actor is
/// free, and the relay enters. It finds that its session has not ended and goes on with the next
/// operation; the suspended operation keeps the session's task for itself. So an operation costs a
/// task only if it suspends, and the next one begins when it does.
extension DrainSession {
  /// Runs the session from its start. Its turn counts as taken once the actor lets it in: until then,
  /// reports say that its tasks have not come to the actor.
  func runJobs<ActorType: Actor>(
    on actor: isolated ActorType, _ turn: OutsideExecutor.Turn
  ) async {
    await runJobsInFrame(on: actor, of: LaneDrainer(turn))
  }

  private func runJobsInFrame<ActorType: Actor>(
    on actor: isolated ActorType, of drainer: LaneDrainer
  ) async {
    _ = await Frame.bind(.init(of: core.queue), isolation: actor) {
      await runJobs(on: actor, of: drainer)
    }
  }

  private func runJobs<ActorType: Actor>(
    on actor: isolated ActorType, of drainer: LaneDrainer
  ) async {
    core.begin(self, isSession: true)
    sendRelay(to: actor, drainer)
    let takesParameter = core.takesParameter
    for _ in 0..<Self.operationsInARow {
      let step = drainer.next(tag: nextTag)
      guard case .plain(let work, let context, let token) = step else {
        state = .done
        end()
        // Before another session begins, which unpins when it ends.
        core.pin?.unpin(core)
        core.handle(step)
        core.progressed()
        return
      }
      core.progressed()
      let closure = PlainClosure(work: work, context: context)
      if takesParameter {
        await Self.run(closure, on: actor)
      } else {
        await Self.runOnMain(closure, actor)
      }
      _ = Engine.end(token, as: .finished)
      if case .displaced = state {
        end()
        core.progressed()
        return
      }
      drainer.plainReturned()
    }
    end()
    state = .handedOver
  }

  /// By the time that this returns, the closure is released.
  @inline(__always)
  private static func run<ActorType: Actor>(
    _ closure: consuming PlainClosure, on actor: isolated ActorType
  ) async {
    let function = closure.take(for: ActorType.self)
    await function(actor)
  }

  /// For the main actor: a function that is not isolated to it would first have to leave it.
  @inline(__always)
  private static func runOnMain<ActorType: Actor>(
    _ closure: consuming PlainClosure, _ actor: isolated ActorType
  ) async {
    let function = closure.takeMain()
    await function()
  }

  private func sendRelay<ActorType: Actor>(to actor: isolated ActorType, _ drainer: LaneDrainer) {
    let relay = DrainSession(core, tag: tag, taskPriority)
    relay.adopt(
      Task(priority: taskPriority) {
        // Isolated to the actor because it uses the parameter, so it goes straight to the actor.
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
      drainer.plainReturned()
    }
    await runJobsInFrame(on: actor, of: drainer)
  }
}
