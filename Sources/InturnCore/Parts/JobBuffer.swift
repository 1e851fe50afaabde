/// Jobs in order: a list of chunks. Its lane's lock protects it.
struct JobBuffer {
  /// Nil when there is no chunk, as `tail`.
  var head: Chunk.Pointer?
  var tail: Chunk.Pointer?

  @inline(__always)
  var isEmpty: Bool {
    guard let head else { return true }
    return head.isConsumed && head.pointee.next == nil
  }

  /// Puts a job at the end. False when memory runs out; never of one that is owed, see `ChunkPool`.
  @inline(__always)
  mutating func append(_ job: Job, isOwed: Bool = false) -> Bool {
    var last = tail
    if last == nil || last.unsafelyUnwrapped.isFull {
      last = grow(isOwed: isOwed)
      if last == nil { return false }
    }
    let chunk = last.unsafelyUnwrapped
    (chunk.jobs + Int(chunk.pointee.count)).initialize(to: job)
    // Less than its capacity.
    chunk.pointee.count &+= 1
    return true
  }

  @inline(never)
  private mutating func grow(isOwed: Bool) -> Chunk.Pointer? {
    let last = Chunk.sizeClasses - 1
    let sizeClass = tail.map { Swift.min($0.pointee.sizeClass + 1, last) } ?? 0
    guard let chunk = Engine.current.pointee.chunks.take(sizeClass: sizeClass, isOwed: isOwed)
    else { return nil }
    if let tail {
      tail.pointee.next = chunk
    } else {
      head = chunk
    }
    tail = chunk
    return chunk
  }

  /// Puts an owed job before all others, in a buffer that no burst reads.
  mutating func prepend(_ job: Job) {
    if head == nil || head.unsafelyUnwrapped.pointee.start == 0 {
      let chunk = Engine.current.pointee.chunks.take(sizeClass: 0, isOwed: true).unsafelyUnwrapped
      chunk.pointee.start = chunk.pointee.capacity
      chunk.pointee.count = chunk.pointee.capacity
      chunk.pointee.next = head
      head = chunk
      if tail == nil { tail = chunk }
    }
    let chunk = head.unsafelyUnwrapped
    chunk.pointee.start -= 1
    (chunk.jobs + Int(chunk.pointee.start)).initialize(to: job)
  }

  /// Puts another buffer's jobs at the end; it is empty then.
  mutating func append(_ other: inout JobBuffer) {
    guard other.head != nil else { return }
    if let tail {
      tail.pointee.next = other.head
    } else {
      head = other.head
    }
    tail = other.tail
    other = JobBuffer()
  }

  /// The chunk with the next job, or nil when there is none; gives consumed ones back. The last one
  /// is kept for what comes next, and begun again when it is consumed.
  ///
  /// `isRead`: the drainer of a burst reads the first chunk without the lock, so that no place of
  /// it may be filled again.
  @inline(__always)
  mutating func front(isRead: Bool = false) -> Chunk.Pointer? {
    while let chunk = head, chunk.isConsumed {
      guard let next = chunk.pointee.next else {
        if !isRead {
          chunk.pointee.start = 0
          chunk.pointee.count = 0
        }
        return nil
      }
      head = next
      Engine.current.pointee.chunks.giveBack(chunk)
    }
    return head
  }

  /// The next job, or nil.
  mutating func first() -> Job? {
    front()?.first
  }

  /// Takes the next job out, or nil.
  mutating func pop() -> Job? {
    guard let chunk = front() else { return nil }
    let job = chunk.first
    chunk.pointee.start += 1
    return job
  }

  /// Gives the memory of an empty buffer back.
  mutating func release() {
    guard front() == nil, let chunk = head else { return }
    head = nil
    tail = nil
    Engine.current.pointee.chunks.giveBack(chunk)
  }

  /// Gives the memory of an empty buffer back, but for a chunk of the smallest size: so a few that
  /// come and go fetch none, and what a burst took does not stay.
  @inline(__always)
  mutating func releaseLarge() {
    if let chunk = head, chunk.pointee.sizeClass > 0 { release() }
  }

  /// Takes all jobs out as a list of chunks. The chunk that is read stays, and what is left in it
  /// moves to others.
  mutating func takeAll(isRead: Bool = false) -> Chunk.Pointer? {
    if !isRead {
      guard let first = front() else { return nil }
      head = nil
      tail = nil
      return first
    }
    guard let head else { return nil }
    var rest = JobBuffer()
    for place in head.pointee.start..<head.pointee.count {
      _ = rest.append(head.jobs[Int(place)], isOwed: true)
    }
    var others = JobBuffer(head: head.pointee.next, tail: tail)
    rest.append(&others)
    head.seal()
    tail = head
    return rest.head
  }

  /// Takes out the jobs for which `isDead` says so, of some chunks that this round has not come by
  /// yet, or of all; the others keep their order. The chunk that is read stays as it is. `budget`: how
  /// many jobs may still be looked at, about. True when the round is through.
  mutating func squeeze(
    _ round: UInt32?, isRead: Bool, _ budget: inout Int, where isDead: (Job) -> Bool
  ) -> Bool {
    var before: Chunk.Pointer?
    var next = isRead ? head?.pointee.next : head
    while let chunk = next {
      next = chunk.pointee.next
      if chunk.pointee.round == round {
        before = chunk
        continue
      }
      if budget <= 0 { return false }
      budget -= Int(chunk.pointee.count - chunk.pointee.start) + 1
      if let round { chunk.pointee.round = round }
      var end = Int(chunk.pointee.start)
      for position in end..<Int(chunk.pointee.count) where !isDead(chunk.jobs[position]) {
        chunk.jobs[end] = chunk.jobs[position]
        end += 1
      }
      chunk.pointee.count = UInt32(end)
      let left = chunk.pointee.count - chunk.pointee.start
      if let before, before.pointee.capacity - before.pointee.count >= left {
        (before.jobs + Int(before.pointee.count)).initialize(
          from: chunk.jobs + Int(chunk.pointee.start), count: Int(left))
        before.pointee.count += left
        before.pointee.next = next
        if next == nil { tail = before }
        Engine.current.pointee.chunks.giveBack(chunk)
      } else {
        before = chunk
      }
    }
    return true
  }

  /// Tells each job in order, until `body` says that it is enough. False when it has.
  func forEach(_ body: (Job) -> Bool) -> Bool {
    var next = head
    while let chunk = next {
      for position in chunk.pointee.start..<chunk.pointee.count
      where !body(chunk.jobs[Int(position)]) {
        return false
      }
      next = chunk.pointee.next
    }
    return true
  }
}
