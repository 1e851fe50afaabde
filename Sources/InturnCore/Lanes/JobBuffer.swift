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

  /// Puts a job at the end. False when memory runs out.
  @inline(__always)
  mutating func append(_ job: Job) -> Bool {
    var last = tail
    if last == nil || last.unsafelyUnwrapped.isFull {
      last = grow()
      if last == nil { return false }
    }
    let chunk = last.unsafelyUnwrapped
    (chunk.jobs + Int(chunk.pointee.count)).initialize(to: job)
    chunk.pointee.count += 1
    return true
  }

  @inline(never)
  private mutating func grow() -> Chunk.Pointer? {
    let last = Chunk.sizeClasses - 1
    let sizeClass = tail.map { Swift.min($0.pointee.sizeClass + 1, last) } ?? 0
    guard let chunk = Engine.current.pointee.chunks.take(sizeClass: sizeClass) else { return nil }
    if let tail {
      tail.pointee.next = chunk
    } else {
      head = chunk
    }
    tail = chunk
    return chunk
  }

  /// Puts a job before all others, in a buffer that no batch reads. False when memory runs out.
  mutating func prepend(_ job: Job) -> Bool {
    if head == nil || head.unsafelyUnwrapped.pointee.start == 0 {
      guard let chunk = Engine.current.pointee.chunks.take(sizeClass: 0) else { return false }
      chunk.pointee.start = chunk.pointee.capacity
      chunk.pointee.count = chunk.pointee.capacity
      chunk.pointee.next = head
      head = chunk
      if tail == nil { tail = chunk }
    }
    let chunk = head.unsafelyUnwrapped
    chunk.pointee.start -= 1
    (chunk.jobs + Int(chunk.pointee.start)).initialize(to: job)
    return true
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
  /// `isRead`: the drainer of a batch reads the first chunk without the lock, so that no place of
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
    guard let chunk = front() else { return nil }
    return chunk.jobs[Int(chunk.pointee.start)]
  }

  /// Takes the next job out, or nil.
  mutating func pop() -> Job? {
    guard let chunk = front() else { return nil }
    let job = chunk.jobs[Int(chunk.pointee.start)]
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
  /// moves to a chunk of its own. False when there is no memory for that.
  mutating func takeAll(isRead: Bool = false) -> Chunk.Pointer?? {
    guard front(isRead: isRead) != nil, let head else { return .some(nil) }
    if !isRead {
      self.head = nil
      tail = nil
      return .some(head)
    }
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
    tail = head
    return .some(rest)
  }

  /// Takes out the jobs for which `isDead` says so; the others keep their order. The chunk that is
  /// read stays as it is.
  mutating func removeAll(isRead: Bool, where isDead: (Job) -> Bool) {
    guard let head, var target = isRead ? head.pointee.next : head else { return }
    var source: Chunk.Pointer? = target
    var begin = target.pointee.start
    var end = begin
    while let chunk = source {
      for position in Int(chunk.pointee.start)..<Int(chunk.pointee.count) {
        let job = chunk.jobs[position]
        if isDead(job) { continue }
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
    tail = target
    while let chunk = surplus {
      surplus = chunk.pointee.next
      Engine.current.pointee.chunks.giveBack(chunk)
    }
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
