import Synchronization

/// The object behind a value's handle.
final class ValueObject: Sendable {
  let trail: Trail<RawValue>
  /// The type of everything that it ever holds.
  let kind: RawValue.Kind
  let references: ReferenceFunctions
  /// Whether it shows a state of the engine's, which its holder cannot change.
  let isState: Bool

  init(_ value: RawValue, _ references: ReferenceFunctions, label: Text?) {
    self.references = references
    trail = Trail(value, label: label)
    kind = value.kind
    isState = false
  }

  /// A value that will show a state.
  init(stateOf kind: RawValue.Kind) {
    references = ReferenceFunctions()
    // A placeholder until it follows the state.
    trail = Trail(.boolean(false))
    self.kind = kind
    isState = true
  }
}

/// The object behind an observation's handle.
final class ObservationObject: Sendable {
  let trail: Trail<RawValue>
  /// Zero until the observation has begun. Relaxed: its handle is given out afterwards.
  let id = Atomic<UInt64>(0)

  init(_ trail: Trail<RawValue>) { self.trail = trail }
}

/// Cleans up after an observation when its observer is released.
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
  /// The queue or executor that calls the observer. If both are null, the changing thread calls it.
  package var queue = Handle(bits: 0)
  package var executor = Handle(bits: 0)

  package init() {}
}

/// The callbacks of an observer of a value with a handle.
package struct ObserverCallback: Sendable {
  let call: @Sendable (TrailEntry<RawValue>) -> Void
  /// Called once, after the last call; also when the observation could not begin.
  let onEnd: @Sendable () -> Void

  package init(
    call: @escaping @Sendable (TrailEntry<RawValue>) -> Void, onEnd: @escaping @Sendable () -> Void
  ) {
    self.call = call
    self.onEnd = onEnd
  }

  /// Creates the observer, and completes the options. Nil, after `onEnd`, when that fails.
  func observer(
    _ observation: Handle, _ options: inout ObserveOptions
  ) -> (Status, TrailObserver<RawValue>?) {
    let end = ObservationEnd(observation, onEnd: onEnd)
    let call: (TrailEntry<RawValue>) -> Void = { [call] entry in
      withExtendedLifetime(end) { call(entry) }
    }
    if options.queue.bits != 0 {
      // Refuses a handle that names no queue. A queue that is destroyed later ends the observation.
      let (status, _) = Engine.statistics(of: options.queue)
      if status != .ok { return (status, nil) }
      options.manner.hasMailbox = true
      return (.ok, TrailObserver(call: call, on: options.queue))
    }
    if options.executor.bits != 0 {
      options.manner.hasMailbox = true
      return TrailObserver.make(on: options.executor, call: call)
    }
    return (.ok, TrailObserver(call: call))
  }
}
