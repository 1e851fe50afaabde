import CInturnSystem

/// A call of an observer that a thread is in, as stored in its `CallFrame`.
@usableFromInline
package struct TrailCall {
  /// Valid while the observer is being called.
  let trail: Unmanaged<TrailBase>
  let observation: UInt64
  /// The depth of the entry that it was called with; see `TrailEntry`.
  let depth: UInt32
  /// Whether this thread is the delivering one, so that nothing else is told until the call
  /// returns.
  let isInline: Bool

  func isOf(_ other: TrailBase) -> Bool {
    trail.toOpaque() == Unmanaged.passUnretained(other).toOpaque()
  }

  /// The length of the chain of changes answering one another that the calling thread is in: the
  /// depth of the change that it is being told, or 0.
  @usableFromInline
  static func depth(in trail: TrailBase) -> UInt32 {
    CallFrame.first { $0.call?.isOf(trail) == true }?.pointee.call?.depth ?? 0
  }

  /// Whether the caller is inside a call of this observation or, for nil, of any of the trail's.
  static func isInside(_ trail: TrailBase, observation: UInt64?) -> Bool {
    let found = CallFrame.first {
      guard let call = $0.call, call.isOf(trail) else { return false }
      return observation == nil || observation == call.observation
    }
    return found != nil
  }

  /// Calls `body` as an inline call of an observer about a new change, with that change's depth.
  @usableFromInline
  static func enterAtOnce(_ trail: TrailBase, _ observation: UInt64, _ body: (UInt32) -> Void) {
    let outer = CallFrame.innermost
    let depth = outer == nil ? 1 : depth(in: trail) &+ 1
    var frame = CallFrame(
      call: TrailCall(
        trail: .passUnretained(trail), observation: observation, depth: depth, isInline: true))
    frame.outer = outer
    withUnsafeMutablePointer(to: &frame) { frame in
      inturn_system_set_frame(frame)
      body(depth)
      inturn_system_set_frame(outer)
    }
  }

  /// Calls `body` as a call of an observer.
  @usableFromInline
  static func enter(
    _ trail: TrailBase, _ observation: UInt64, _ depth: UInt32, isInline: Bool,
    _ body: () -> Void
  ) {
    let call = TrailCall(
      trail: .passUnretained(trail), observation: observation, depth: depth, isInline: isInline)
    CallFrame(call: call).enter(body)
  }
}

/// What a thread is waiting for when it waits for a value's observers.
enum TrailWait {
  /// The call of one observation that is under way.
  case call(UInt64)
  /// All calls that are under way.
  case calls
  /// All calls of the changes up to this one, also those that are still to be made.
  case told(UInt64)
  /// A change in its mailbox, for which it depends on the delivering thread.
  case mail

  var isForChange: Bool { if case .mail = self { true } else { false } }
}

extension TrailCall {
  /// Whether this call has to return before the wait can end.
  func isAwaited(by wait: TrailWait, of other: TrailBase) -> Bool {
    if !isOf(other) { return false }
    switch wait {
    case .call(let id): return observation == id
    case .calls, .told: return true
    case .mail: return isInline
    }
  }
}
