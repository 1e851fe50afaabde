import Synchronization

/// What a value's handle names.
final class ValueObject: Sendable {
  let trail: Trail<RawValue>
  /// Of all that it ever holds.
  let kind: RawValue.Kind
  let references: ReferenceFunctions
  /// It tells a state of the engine's, which its holder cannot change.
  let isState: Bool

  init(_ value: RawValue, _ references: ReferenceFunctions, label: String?) {
    self.references = references
    trail = Trail(value, label: label)
    kind = value.kind
    isState = false
  }

  /// A value that is to tell a state.
  init(stateOf kind: RawValue.Kind) {
    references = ReferenceFunctions()
    // Until it follows.
    trail = Trail(.boolean(false))
    self.kind = kind
    isState = true
  }
}

/// What an observation's handle names.
final class ObservationObject: Sendable {
  let trail: Trail<RawValue>
  /// Zero until the observation has begun. Relaxed: whoever has the handle got it afterwards.
  let id = Atomic<UInt64>(0)

  init(_ trail: Trail<RawValue>) { self.trail = trail }
}

/// Ends what goes with an observation when its observer is let go of.
private final class ObservationEnd: Sendable {
  private let handle: Handle
  private let onEnd: @Sendable () -> Void

  init(_ handle: Handle, onEnd: @escaping @Sendable () -> Void) {
    self.handle = handle
    self.onEnd = onEnd
  }

  deinit {
    if handle.bits != 0 { _ = Engine.current.pointee.observations.remove(handle) }
    onEnd()
  }
}

/// How a value is observed through its handle.
package struct ObserveOptions {
  package var manner = TrailManner()
  /// The queue or the executor that calls the observer; both null: who changes the value does.
  package var queue = Handle(bits: 0)
  package var executor = Handle(bits: 0)

  package init() {}
}

/// What is called of an observer of a handle's value.
package struct ObserverCallback: Sendable {
  let call: @Sendable (TrailEntry<RawValue>) -> Void
  /// Called once, after the last call; also when there is no observation.
  let onEnd: @Sendable () -> Void

  package init(
    call: @escaping @Sendable (TrailEntry<RawValue>) -> Void, onEnd: @escaping @Sendable () -> Void
  ) {
    self.call = call
    self.onEnd = onEnd
  }

  /// The observer, in the options' place; nil, after `onEnd`, when there can be none.
  func observer(
    _ observation: Handle, _ options: inout ObserveOptions
  ) -> (Status, TrailObserver<RawValue>?) {
    let end = ObservationEnd(observation, onEnd: onEnd)
    let call: (TrailEntry<RawValue>) -> Void = { [call] entry in
      withExtendedLifetime(end) { call(entry) }
    }
    if options.queue.bits != 0 {
      // Refuses a handle that is none; later, a queue that is gone ends the observation.
      let (status, _) = Engine.statistics(of: options.queue)
      if status != .ok { return (status, nil) }
      options.manner.hasMailbox = true
      return (.ok, TrailObserver(call: call, post: TrailObserver.post(on: options.queue)))
    }
    if options.executor.bits != 0 {
      options.manner.hasMailbox = true
      return TrailObserver.make(on: options.executor, call: call)
    }
    return (.ok, TrailObserver(call: call))
  }
}
