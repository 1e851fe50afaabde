/// Jobs in order: a list of chunks. The lane's lock protects it.
struct JobBuffer {
  /// Nil together with `tail`.
  var head: Chunk.Pointer?
  var tail: Chunk.Pointer?

  @inline(__always)
  var isEmpty: Bool {
    guard let head else { return true }
    return head.isConsumed && head.pointee.next == nil
  }

  /// Appends a job. False when memory runs out, which never happens to an owed job: see
  /// `ChunkPool`.
  @inline(__always)
  mutating func append(_ job: Job, isOwed: Bool = false) -> Bool {
    guard let chunk = room(isOwed: isOwed) else { return false }
    (chunk.jobs + Int(chunk.pointee.count)).initialize(to: job)
    // Cannot overflow: it is below the capacity.
    chunk.pointee.count &+= 1
    return true
  }

  /// The chunk that the next job goes to. Nil when memory runs out.
  @inline(__always)
  mutating func room(isOwed: Bool) -> Chunk.Pointer? {
    if let tail, !tail.isFull { return tail }
    return grow(isOwed: isOwed)
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

  /// Puts an owed job first, in a buffer that no burst reads.
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

  /// Appends another buffer's jobs and leaves that one empty.
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

  /// The chunk with the next job, or nil when there is none. Gives consumed chunks back, except the
  /// last one, which is kept and reused from its start.
  ///
  /// `isRead`: the drainer of a burst reads the first chunk without the lock, so none of its places
  /// may be filled again.
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

  /// Takes out the next job, or nil.
  mutating func pop() -> Job? {
    guard let chunk = front() else { return nil }
    let job = chunk.first
    chunk.pointee.start += 1
    return job
  }

  /// Frees the memory of an empty buffer.
  mutating func release() {
    guard front() == nil, let chunk = head else { return }
    head = nil
    tail = nil
    Engine.current.pointee.chunks.giveBack(chunk)
  }

  /// Frees the memory of an empty buffer, except a chunk of the smallest size. So a few jobs that
  /// come and go fetch no memory, and what a large backlog took does not stay.
  @inline(__always)
  mutating func releaseLarge() {
    if let chunk = head, chunk.pointee.sizeClass > 0 { release() }
  }

  /// Takes out all jobs as a list of chunks. A chunk that is being read stays, and its remaining
  /// jobs move to others.
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

  /// Removes the jobs for which `isDead` is true from chunks that this round has not visited, or
  /// from all if `round` is nil. The other jobs keep their order; a chunk that is being read is
  /// left alone. `budget` limits roughly how many jobs are examined; a call that has to pass many
  /// chunks of this round examines as much more, and goes into debt for both. True when the round
  /// is complete.
  mutating func squeeze(
    _ round: UInt32?, isRead: Bool, _ budget: inout Int, where isDead: (Job) -> Bool
  ) -> Bool {
    var before: Chunk.Pointer?
    var next = isRead ? head?.pointee.next : head
    var passed = 0
    defer { budget -= passed }
    while let chunk = next {
      next = chunk.pointee.next
      if chunk.pointee.round == round {
        before = chunk
        passed += 1
        continue
      }
      if budget + passed <= 0 { return false }
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

  /// Calls `body` with each job in order, until it returns false. False when it has.
  func forEach(_ body: (Job) -> Bool) -> Bool {
    var beginning = JobPlace()
    return forEach(from: &beginning, body)
  }
}
