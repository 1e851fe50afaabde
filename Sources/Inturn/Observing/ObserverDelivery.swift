import InturnCore

/// Where an observer is called.
///
/// Everywhere but ``inline``, changes wait for the observer in its mailbox, and it is called with
/// one change at a time, in order. By the time that it is told of a change, the value may have
/// changed again.
public struct ObserverDelivery: Sendable {
  typealias Schedule = @Sendable (_ look: @escaping @Sendable () -> Void) -> Void

  enum Place: Sendable {
    case inline
    /// Whatever calls the function that empties the mailbox.
    case scheduled(Schedule)
    /// A queue that is created for each observation.
    case ownQueue(executor: Handle)
    case queue(Handle)
  }

  let place: Place

  /// On the thread that changes the value, before the change returns; or on another thread that is
  /// changing it at the same time. The observer may do anything: it is called without a lock.
  public static var inline: ObserverDelivery { .init(place: .inline) }

  /// On the library's worker threads. Observers do not hold each other up.
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

  /// On whatever this function passes its argument to: a dispatch queue, an operation queue, an
  /// event loop. Each argument must be called once; the observer is called within that call. If an
  /// argument is never called, the observer is told nothing more.
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
