import ConcurrentKVO
import Foundation
import InturnCore

/// One interaction that a queue was given: its handle.
///
/// It need not be kept: an interaction does not depend on it. Whoever keeps it does not keep the
/// interaction's closures. All members may be used from any thread.
public final class Interaction: Sendable {
  /// How far an interaction has come.
  public enum State: Sendable {
    /// It waits for its turn, or to be presented again.
    case pending
    /// It is on screen, or its condition is being asked.
    case running
    /// It has ended: ``Interaction/end`` says how.
    case ended
  }

  /// How an interaction ended.
  public enum End: Sendable, Equatable {
    /// It was marked as finished.
    case finished
    /// Its condition said that it was not needed.
    case skipped
    /// Its key was resolved before its turn.
    case resolved
    /// It was cancelled before it was presented, or gave in afterwards, or was cut off.
    case cancelled(Cause)
    /// It waited, or was on screen, too long.
    case timedOut
    /// Its callback was lost: nobody could have marked it as finished any more.
    case abandoned

    /// Why an interaction was cancelled.
    public enum Cause: Sendable {
      /// Somebody cancelled it.
      case request
      /// Its owner has gone away.
      case owner
      /// Its condition said so.
      case condition
      /// It did not give in within its grace time.
      case grace
      /// Its queue is gone.
      case queueReleased
      /// Its queue did not accept it: it is closed.
      case queueClosed
      /// Its queue, or its owner, has as many as it may have.
      case full
    }
  }

  private struct Life {
    var body: (@MainActor (Presentation) -> Void)?
    var condition: (@MainActor @Sendable () -> InteractionQueue.Verdict)?
    var end: End?
    var waiters: [CheckedContinuation<End, Never>] = []
    var operation = Handle(bits: 0)
    /// Made when it is first asked for.
    var observedState: ObservedState<State>?
  }

  /// Protects the state above. Nothing is called while it is held.
  private let life: Locked<Life>

  init(
    _ body: @escaping @MainActor (Presentation) -> Void,
    _ condition: (@MainActor @Sendable () -> InteractionQueue.Verdict)?
  ) {
    life = Locked(Life(body: body, condition: condition))
  }

  deinit {
    let operation = life.withLock { $0.operation }
    if operation.bits != 0 { _ = Engine.release(operation) }
  }

  /// Cancels the interaction: a pending one ends at once and is never presented, a running one is
  /// asked to end, and stays until it is marked as finished or its grace time has passed.
  ///
  /// Nothing happens when it has ended. Others that have joined it are not cancelled: the first of
  /// them is presented in its place.
  public func cancel() {
    let operation = life.withLock { $0.operation }
    if operation.bits != 0 { _ = Engine.cancel(operation) }
  }

  /// How far it has come just now.
  public var state: State {
    let (operation, end) = life.withLock { ($0.operation, $0.end) }
    return end != nil ? .ended : State(Engine.state(of: operation).1)
  }

  /// The interaction's state, to be observed with the calls of `ConcurrentKVO`. One
  /// that has given way is pending again, until it has ended for good.
  ///
  /// It may outlive the interaction, and keeps the last state then.
  public var observedState: ObservedState<State> {
    let (made, operation) = life.withLock { ($0.observedState, $0.operation) }
    if let made { return made }
    let new = ObservedState(of: operation, otherwise: State.ended) { State($0) }
    return life.withLock { life in
      // Another thread may have been first; then this one goes.
      if let made = life.observedState { return made }
      life.observedState = new
      return new
    }
  }

  /// How the interaction ended; waits until it has. Not affected by the task's cancellation.
  ///
  /// Waiting for it inside the interaction's own closure never ends, unless somebody else ends it:
  /// the closure has to return or to suspend, and the callback to be called.
  public var end: End {
    get async {
      await withCheckedContinuation { continuation in
        let end = life.withLock { life in
          if life.end == nil { life.waiters.append(continuation) }
          return life.end
        }
        if let end { continuation.resume(returning: end) }
      }
    }
  }

  // MARK: What the engine calls

  func enqueue(on queue: Handle, _ options: OperationOptions, label: String) {
    var options = options
    // One reference as the work's context, one as the end's.
    let context = Unmanaged.passRetained(self).toOpaque()
    _ = Unmanaged.passRetained(self)
    options.endCallback = EndCallback(
      function: {},
      call: { _, context, end in
        Self.from(context).hasEnded(End(end.outcome, end.cause))
      },
      context: context, destroy: Self.letGo)
    let (status, operation) = label.withCString { text in
      options.label = text
      return Engine.enqueue(
        queue, options: options, work: Self.present, context: context, destroy: Self.forget,
        wantsHandle: true)
    }
    if status == .ok {
      life.withLock { $0.operation = operation }
      return
    }
    Self.forget(context)
    Self.letGo(context)
    hasEnded(.cancelled(status == .full ? .full : status == .closed ? .queueClosed : .owner))
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> Interaction {
    Unmanaged<Interaction>.fromOpaque(context!).takeUnretainedValue()
  }

  private static let present: RawWork = { context, token in
    let interaction = from(context)
    guard let body = interaction.life.withLock({ $0.body }) else { return }
    let presentation = Presentation(Handle(bits: token))
    MainActor.assumeIsolated { body(presentation) }
  }

  static let askCondition: RawCondition = { context in
    guard let condition = from(context).life.withLock({ $0.condition }) else { return 0 }
    switch MainActor.assumeIsolated({ condition() }) {
    case .present: return 0
    case .skip: return 1
    case .giveUp: return 2
    }
  }

  /// The engine does not use the interaction's closures any more: they go, whoever holds the handle.
  private static let forget: RawDestroy = { context in
    let interaction = Unmanaged<Interaction>.fromOpaque(context!).takeRetainedValue()
    let closures = interaction.life.withLock { life in
      defer { (life.body, life.condition) = (nil, nil) }
      return (life.body, life.condition)
    }
    withExtendedLifetime(closures) {}
  }

  private static let letGo: RawDestroy = { Unmanaged<Interaction>.fromOpaque($0!).release() }

  private func hasEnded(_ end: End) {
    let waiters = life.withLock { life in
      life.end = end
      defer { life.waiters = [] }
      return life.waiters
    }
    for waiter in waiters { waiter.resume(returning: end) }
  }
}

extension Interaction.State {
  fileprivate init(_ state: OperationState) {
    switch state {
    case .pending: self = .pending
    case .running: self = .running
    case .ended: self = .ended
    }
  }
}

extension Interaction.End {
  init(_ outcome: Outcome, _ cause: InturnCore.Cause) {
    switch (outcome, cause) {
    case (.finished, .skipped): self = .skipped
    case (.finished, .resolved): self = .resolved
    case (.finished, _), (.failed, _): self = .finished
    case (.timedOut, _): self = .timedOut
    case (.abandoned, _): self = .abandoned
    case (.cancelled, .owner): self = .cancelled(.owner)
    case (.cancelled, .condition): self = .cancelled(.condition)
    case (.cancelled, .grace): self = .cancelled(.grace)
    case (.cancelled, .destroyed): self = .cancelled(.queueReleased)
    case (.cancelled, _): self = .cancelled(.request)
    }
  }
}
