import CInturnSystem

/// That a thread is inside a call of an observer: what its `CallFrame` says of it.
@usableFromInline
package struct TrailCall {
  /// It stays while it is being called.
  let trail: Unmanaged<TrailBase>
  let observation: UInt64
  /// Of the entry that it is called with; see `TrailEntry`.
  let depth: UInt32
  /// Whether this thread is the one that delivers, so that nothing more is told until it returns.
  let isInline: Bool

  func isOf(_ other: TrailBase) -> Bool {
    trail.toOpaque() == Unmanaged.passUnretained(other).toOpaque()
  }

  /// How many changes of a trail, the last of which the caller is being told, answer one another.
  @usableFromInline
  static func depth(in trail: TrailBase) -> UInt32 {
    CallFrame.first { $0.call?.isOf(trail) == true }?.pointee.call?.depth ?? 0
  }

  /// Whether the caller is inside a call of this observation, or, for nil, of any of the trail's.
  static func isInside(_ trail: TrailBase, observation: UInt64?) -> Bool {
    let found = CallFrame.first {
      guard let call = $0.call, call.isOf(trail) else { return false }
      return observation == nil || observation == call.observation
    }
    return found != nil
  }

  /// Calls `body` as an inline call of an observer, with the depth of what is told: a change that
  /// is made now.
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
    var frame = CallFrame(
      call: TrailCall(
        trail: .passUnretained(trail), observation: observation, depth: depth, isInline: isInline))
    withUnsafeMutablePointer(to: &frame) { frame in
      frame.push()
      body()
      frame.pop()
    }
  }
}

/// What somebody waits for who waits for a value's observers.
enum TrailWait {
  /// One observation's call that is under way.
  case call(UInt64)
  /// All calls that are under way, or are still to be made.
  case calls
  /// Changes getting into a mailbox, which is up to the thread that delivers.
  case mail
}

extension TrailCall {
  /// Whether that must return before the wait can end.
  func isAwaited(by wait: TrailWait, of other: TrailBase) -> Bool {
    if !isOf(other) { return false }
    switch wait {
    case .call(let id): return observation == id
    case .calls: return true
    case .mail: return isInline
    }
  }
}
