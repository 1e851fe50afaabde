/// What a lane has the recorder keep. Each caller looks first whether it is on.
extension UnsafeMutablePointer<Lane> {
  /// Whether the recorder is on. What takes a short way into the lane sees that by the lane's flag,
  /// together with what else it has to look for. The flag may be left from an earlier recording.
  var isRecordedLocked: Bool {
    if !pointee.machine.flags.contains(.recorded) { return false }
    if Recorder.isOn { return true }
    pointee.machine.flags.remove(.recorded)
    pointee.machine.flags.insert(.wasRecorded)
    return false
  }

  /// By which records name the queue: 41 bits of the lane's address, which is a multiple of 64 below
  /// 2 to the 47th, and 23 of its generation. A ring in which these repeat has gigabytes.
  var traceKey: UInt64 {
    UInt64(UInt(bitPattern: self)) >> 6 | UInt64(pointee.generation & 0x7F_FFFF) << 41
  }

  /// A job is about to be put at the buffer's end, unless the lane keeps all in its order. There is
  /// room for it afterwards, or no record.
  @inline(__always)
  func traceAppendLocked(_ job: Job, isOwed: Bool) {
    guard order == nil || !isSelective, let chunk = pointee.buffer.room(isOwed: isOwed)
    else { return }
    Recorder.noteOften(
      .enqueued, traceKey, 0,
      UInt64(job.work.site.bits) << 48 | chunk.tracePlace(chunk.pointee.count))
  }

  /// An operation with a slot has been put in its place.
  @inline(never)
  func traceEnqueuedLocked(_ slot: OperationSlot.Pointer) {
    Recorder.note(.enqueued, traceKey, slot.traceKey, slot.traceSite)
    if let label = slot.pointee.details?.pointee.label {
      Recorder.note(.label, traceKey, slot.traceKey, label: label)
    }
  }

  /// An operation has started. The job of a plain one has just left the buffer.
  @inline(never)
  func traceStartedLocked(_ slot: OperationSlot.Pointer, isPlain: Bool = false) {
    var place: UInt64 = 0
    if isPlain, let chunk = pointee.buffer.head, chunk.pointee.start > 0 {
      place = chunk.tracePlace(chunk.pointee.start - 1)
    }
    Recorder.note(.started, traceKey, slot.traceKey, slot.traceSite | place)
  }

  /// An operation on this lane no longer waits for one that has ended.
  @inline(never)
  func traceReleasedLocked(_ edge: Edge.Pointer) {
    guard let earlier = edge.pointee.earlier else { return }
    let handle = Handle(
      .operation, index: earlier.pointee.index, generation: edge.pointee.earlierGeneration)
    Recorder.note(.released, traceKey, edge.pointee.later.traceKey, handle.traceKey)
  }

  /// Copies the label of the queue with this key to the room. False when it is gone.
  func copyLabel(ofTraced key: UInt64, to room: UnsafeMutableRawBufferPointer) -> Bool {
    pointee.lock.lock()
    defer { pointee.lock.unlock() }
    if isGoneLocked || key != traceKey { return false }
    room[0] = 0
    if let label { cutText(label, to: room) }
    return true
  }

  /// The lane that a key stands for, or stood for.
  init(traced key: UInt64) { self.init(bitPattern: UInt((key & (1 << 41 - 1)) << 6))! }

  /// This thread begins a turn of the lane's executor.
  @inline(never)
  func traceTurnLocked() {
    let limit = limit == UInt32.max ? 0 : UInt64(limit)
    Recorder.note(.turn, traceKey, limit, executor.handle.traceKey)
  }

  /// Something that is about the lane alone.
  @inline(never)
  func traceLocked(_ kind: Recorder.Kind) { Recorder.note(kind, traceKey, 0, 0) }

  /// The queue is being destroyed. Its name is kept even after the recorder was stopped.
  @inline(never)
  func traceGoneLocked() { Recorder.note(.gone, traceKey, 0, label: label) }

  /// Whether a trace may need the queue's name.
  var mayHaveRecordsLocked: Bool {
    !pointee.machine.flags.isDisjoint(with: [.recorded, .wasRecorded])
  }
}

extension UnsafeMutablePointer<OperationSlot> {
  /// By which records name the operation's present attempt.
  var traceKey: UInt64 { handle(.operation).traceKey }

  fileprivate var traceSite: UInt64 { UInt64(pointee.work.site.bits) << 48 }

  /// The call of its work has returned. It may have ended: the slot is still there, the queue may be
  /// gone.
  @inline(never)
  func traceReturned() { Recorder.note(.returned, 0, traceKey, 0) }

  /// It has ended: no later than at this time, after which another one may have started.
  @_optimize(speed)
  @inline(never)
  static func traceEnded(_ token: Handle, as outcome: Outcome, at time: UInt64) {
    Recorder.noteOften(.ended, 0, token.traceKey | UInt64(outcome.rawValue) << 56, 0, at: time)
  }
}

extension Handle {
  /// The bits that handles of all kinds for the same object share.
  var traceKey: UInt64 { bits & (1 << 56 - 1) }
}

extension UnsafeMutablePointer<Chunk> {
  /// Stands for a place in a buffer: no other one has it at the same time.
  func tracePlace(_ position: UInt32) -> UInt64 {
    UInt64(pointee.number) << 12 | UInt64(position)
  }
}
