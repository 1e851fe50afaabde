import CInturnSystem

/// Records that a thread is inside a lane's callbacks or a value's observer, or drains a host's
/// executor. Each thread has a list of frames on its stack, innermost first.
struct CallFrame {
  typealias Pointer = UnsafeMutablePointer<CallFrame>

  var outer: Pointer?
  var lane: Lane.Pointer?
  var executor: Unmanaged<Executor>?
  /// The executor that this thread drains and returns to after the call; only compared.
  var home: UnsafeRawPointer?
  /// The call runs handlers of an operation, not a drainer's turn.
  var isNotice = false
  /// The operation whose work is being called, or is about to be, if it has a slot.
  var operation: OperationSlot.Pointer?
  /// Set while a value's observer is called.
  var call: TrailCall?
  /// The batch of which a context is being destroyed; only compared.
  var batch: UnsafeRawPointer?

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

  /// Whether this is work that was cut off, so that its lane no longer waits for this call.
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

  /// The innermost of the caller's frames that fulfils the condition.
  @inline(__always)
  static func first(where isMeant: (CallFrame) -> Bool) -> Pointer? {
    var frame = innermost
    while let current = frame, !isMeant(current.pointee) { frame = current.pointee.outer }
    return frame
  }
}

extension CallFrame {
  /// Makes this the innermost frame of the thread for as long as `body` runs.
  @inline(__always)
  func enter<Result>(_ body: () -> Result) -> Result {
    var frame = self
    return withUnsafeMutablePointer(to: &frame) { frame in
      frame.pointee.outer = Self.innermost
      inturn_system_set_frame(frame)
      defer { inturn_system_set_frame(frame.pointee.outer) }
      return body()
    }
  }
}

extension Batch {
  /// Calls a function before whose return the batch cannot end. A wait for the batch inside of it is
  /// refused.
  func noteEntered(_ body: () -> Void) {
    let frame = CallFrame.innermost
    let outer = frame?.pointee.batch
    frame?.pointee.batch = UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
    body()
    frame?.pointee.batch = outer
  }
}
