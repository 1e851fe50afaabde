import CInturnSystem

/// That a thread is inside a lane's callbacks or a value's observer, or drains a host's executor: a
/// list on each thread's stack, innermost first.
struct CallFrame {
  typealias Pointer = UnsafeMutablePointer<CallFrame>

  var outer: Pointer?
  var lane: Lane.Pointer?
  var executor: Unmanaged<Executor>?
  /// The executor whose thread this is, which comes back to it after the call; for comparing only.
  var home: UnsafeRawPointer?
  /// Handlers of an operation are being called, which is no drainer's turn.
  var isNotice = false
  /// The operation whose work is being called, or is about to be, where it has a slot.
  var operation: OperationSlot.Pointer?
  /// Of a call of a value's observer.
  var call: TrailCall?

  init(lane: Lane.Pointer, home: UnsafeRawPointer? = nil) {
    self.lane = lane
    self.home = home
  }
  init(executor: Executor) { self.executor = .passUnretained(executor) }
  init(call: TrailCall) { self.call = call }

  @inline(__always)
  static var innermost: Pointer? {
    inturn_system_frame()?.assumingMemoryBound(to: CallFrame.self)
  }

  /// Whether this is work that has been cut off, after which its lane has gone on without this call.
  var isCutOff: Bool {
    guard let word = operation?.loadWord() else { return false }
    return word.contains(.cutOff) && word.flags.isDisjoint(with: [.placeHeld, .restarting])
  }

  /// Copies of the caller's frames, innermost first.
  static var all: [CallFrame] {
    var frames: [CallFrame] = []
    var frame = innermost
    while let current = frame {
      frames.append(current.pointee)
      frame = current.pointee.outer
    }
    return frames
  }

  /// Whether this thread is inside a callback of the lane.
  static func isInside(_ lane: Lane.Pointer) -> Bool { first { $0.lane == lane } != nil }

  /// The innermost of the caller's frames that is meant.
  @inline(__always)
  static func first(where isMeant: (CallFrame) -> Bool) -> Pointer? {
    var frame = innermost
    while let current = frame, !isMeant(current.pointee) { frame = current.pointee.outer }
    return frame
  }
}

extension UnsafeMutablePointer<CallFrame> {
  @inline(__always)
  func push() {
    pointee.outer = CallFrame.innermost
    inturn_system_set_frame(self)
  }

  @inline(__always)
  func pop() { inturn_system_set_frame(pointee.outer) }
}
