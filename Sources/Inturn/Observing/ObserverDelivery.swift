import InturnCore

/// Where an observer is called.
///
/// Everywhere but ``inline``, what an observer is to be told waits in a mailbox of its own, and it
/// is called with one change at a time, in their order. It may then be told of a change when the
/// value has changed again.
public struct ObserverDelivery: Sendable {
  typealias Schedule = @Sendable (_ look: @escaping @Sendable () -> Void) -> Void

  enum Place: Sendable {
    case inline
    /// Whatever calls the look into the mailbox.
    case scheduled(Schedule)
    /// A queue that is made for each observation.
    case ownQueue(executor: Handle)
    case queue(Handle)
  }

  let place: Place

  /// By the thread that changes the value, before the change returns; or by another one that is
  /// changing it at the same time. The observer may do anything: it is
  /// called under no lock.
  public static var inline: ObserverDelivery { .init(place: .inline) }

  /// By the library's workers. Observers do not hold each other up.
  public static var pool: ObserverDelivery {
    .init(place: .ownQueue(executor: Engine.poolExecutor))
  }

  /// On the executor of an actor, such as `MainActor.shared`. The observer may use
  /// `assumeIsolated`.
  public static func actor(_ actor: any Actor) -> ObserverDelivery {
    .init(place: .scheduled { look in Task { await actor.call(look) } })
  }

  /// On a task executor.
  public static func executor(_ executor: any TaskExecutor) -> ObserverDelivery {
    .init(place: .scheduled { look in Task(executorPreference: executor) { look() } })
  }

  /// By whatever this function hands its argument to: a dispatch queue, an operation queue, an
  /// event loop. Each argument must be called once; the observer is called inside that. An
  /// argument that is never called means that the observer is never told anything more.
  public static func scheduled(
    by schedule: @escaping @Sendable (_ call: @escaping @Sendable () -> Void) -> Void
  ) -> ObserverDelivery {
    .init(place: .scheduled(schedule))
  }

  /// As operations of a queue of the engine, among its other operations.
  package static func queue(_ queue: Handle) -> ObserverDelivery { .init(place: .queue(queue)) }
}

extension Actor {
  fileprivate func call(_ look: @Sendable () -> Void) { look() }
}
