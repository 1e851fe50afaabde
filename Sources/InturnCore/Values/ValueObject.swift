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

/// Makes an observation's handle stale when its observer is released, and then lets go of the
/// callback.
private final class ObservationEnd: Sendable {
  private let handle: Handle
  let callback: ObserverCallback

  init(_ handle: Handle, _ callback: ObserverCallback) {
    self.handle = handle
    self.callback = callback
  }

  deinit {
    if handle.bits != 0 { _ = Engine.current.pointee.observations.remove(handle) }
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

/// The callback of an observer of a value with a handle. It is released after the last call; also
/// when the observation could not begin.
package typealias ObserverCallback = Callback<TrailEntry<RawValue>>

extension ObserverCallback {
  /// Creates the observer, and completes the options. Nil when that fails.
  func observer(
    _ observation: Handle, _ options: inout ObserveOptions
  ) -> (Status, TrailObserver<RawValue>?) {
    let end = ObservationEnd(observation, self)
    let call: (TrailEntry<RawValue>) -> Void = { entry in end.callback(entry) }
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
