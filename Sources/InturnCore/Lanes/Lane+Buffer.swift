/// The lane's buffer. The lane is locked in all of these.
extension UnsafeMutablePointer<Lane> {
  /// Puts a job at the end. False when memory runs out.
  @inline(__always)
  func appendLocked(_ job: Job) -> Bool {
    var tail = pointee.tail
    if tail == nil || tail.unsafelyUnwrapped.isFull {
      tail = growLocked()
      if tail == nil { return false }
    }
    let chunk = tail.unsafelyUnwrapped
    (chunk.jobs + Int(chunk.pointee.count)).initialize(to: job)
    chunk.pointee.count += 1
    pointee.pending += 1
    return true
  }

  @inline(never)
  private func growLocked() -> Chunk.Pointer? {
    let engine = Engine.current
    let last = Chunk.sizeClasses - 1
    let sizeClass = pointee.tail.map { Swift.min($0.pointee.sizeClass + 1, last) } ?? 0
    guard let chunk = engine.pointee.chunks.take(sizeClass: sizeClass) else { return nil }
    linkLocked(chunk)
    return chunk
  }

  private func linkLocked(_ chunk: Chunk.Pointer) {
    if let tail = pointee.tail {
      tail.pointee.next = chunk
    } else {
      pointee.head = chunk
    }
    pointee.tail = chunk
  }

  /// The chunk with the next job, or nil when there is none; gives consumed ones back. The last one
  /// is kept for what comes next, and begun again when it is consumed.
  @inline(__always)
  func frontLocked() -> Chunk.Pointer? {
    while let chunk = pointee.head, chunk.isConsumed {
      guard let next = chunk.pointee.next else {
        // The drainer of a batch may still look at a place that would be filled again.
        if !pointee.machine.flags.contains(.batching) {
          chunk.pointee.start = 0
          chunk.pointee.count = 0
        }
        return nil
      }
      pointee.head = next
      Engine.current.pointee.chunks.giveBack(chunk)
    }
    return pointee.head
  }

  /// Takes the next job out, or nil.
  func popLocked() -> Job? {
    guard let chunk = frontLocked() else { return nil }
    let job = chunk.jobs[Int(chunk.pointee.start)]
    chunk.pointee.start += 1
    return job
  }

  /// Gives the empty buffer of a lane back that has nothing to do.
  func releaseBufferLocked() {
    guard frontLocked() == nil, let chunk = pointee.head else { return }
    pointee.head = nil
    pointee.tail = nil
    Engine.current.pointee.chunks.giveBack(chunk)
  }

  /// Takes all jobs out as a list of chunks. The drainer of a batch may still be reading the
  /// first chunk: that one stays, and what is left in it moves to a chunk of its own. False when
  /// there is no memory for that.
  func detachBufferLocked() -> Chunk.Pointer?? {
    guard frontLocked() != nil, let head = pointee.head else { return .some(nil) }
    var detached: Chunk.Pointer? = head
    if pointee.machine.flags.contains(.batching) {
      var rest = head.pointee.next
      if !head.isConsumed {
        guard let copy = Engine.current.pointee.chunks.take(sizeClass: head.pointee.sizeClass)
        else { return nil }
        let count = head.pointee.count - head.pointee.start
        copy.jobs.initialize(from: head.jobs + Int(head.pointee.start), count: Int(count))
        copy.pointee.count = count
        copy.pointee.next = rest
        rest = copy
      }
      head.seal()
      pointee.tail = head
      detached = rest
    } else {
      pointee.head = nil
      pointee.tail = nil
    }
    return .some(detached)
  }

  /// Squeezes jobs out that were cancelled one by one, once they are more than half. So a queue
  /// that stands still while operations come and are cancelled does not grow.
  func compactLocked() {
    guard let extra = pointee.extra, extra.pointee.tombstones > 64,
      extra.pointee.tombstones > pointee.pending, let head = pointee.head
    else { return }
    // A batch's drainer may be reading the first chunk.
    guard var target = pointee.machine.flags.contains(.batching) ? head.pointee.next : head
    else { return }
    var source: Chunk.Pointer? = target
    var begin = target.pointee.start
    var end = begin
    while let chunk = source {
      for position in Int(chunk.pointee.start)..<Int(chunk.pointee.count) {
        let job = chunk.jobs[position]
        if let slot = job.slot, slot.loadWord().contains(.claimed) {
          extra.pointee.tombstones -= 1
          slot.dropReference()
          continue
        }
        if end == target.pointee.capacity {
          target.pointee.count = end
          target.pointee.start = begin
          target = target.pointee.next!
          begin = 0
          end = 0
        }
        target.jobs[Int(end)] = job
        end += 1
      }
      source = chunk.pointee.next
    }
    target.pointee.start = begin
    target.pointee.count = end
    var surplus = target.pointee.next
    target.pointee.next = nil
    pointee.tail = target
    while let chunk = surplus {
      surplus = chunk.pointee.next
      Engine.current.pointee.chunks.giveBack(chunk)
    }
  }
}
