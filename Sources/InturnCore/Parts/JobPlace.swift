/// How far a walk through a buffer has come, so that it can go on after the lane was unlocked.
///
/// The chunk may be in another buffer by then, so its number is compared, which is new each time
/// that it is taken from the pool. A chunk that is gone was read to its end, and all chunks before
/// it.
struct JobPlace {
  private var chunk: Chunk.Pointer?
  private var number: UInt32 = 0
  private var round: UInt32 = 0
  private var position: UInt32 = 0

  fileprivate var isNew: Bool { chunk == nil }

  fileprivate func isIn(_ chunk: Chunk.Pointer) -> Bool {
    chunk == self.chunk && chunk.pointee.number == number
  }

  /// Where to go on in the chunk: at its start, if jobs have been squeezed out of it meanwhile.
  fileprivate func position(in chunk: Chunk.Pointer) -> UInt32 {
    let start = chunk.pointee.start
    return isIn(chunk) && chunk.pointee.round == round ? max(start, position) : start
  }

  fileprivate mutating func note(_ chunk: Chunk.Pointer, _ position: UInt32) {
    self.chunk = chunk
    number = chunk.pointee.number
    round = chunk.pointee.round
    self.position = position
  }
}

extension JobBuffer {
  /// Calls `body` with each job from a place on, until it returns false; the next walk then begins
  /// at that job. False when it has.
  func forEach(from place: inout JobPlace, _ body: (Job) -> Bool) -> Bool {
    var found = place.isNew ? nil : head
    while let chunk = found, !place.isIn(chunk) { found = chunk.pointee.next }
    var next = found ?? head
    while let chunk = next {
      var position = place.position(in: chunk)
      while position < chunk.pointee.count {
        if !body(chunk.jobs[Int(position)]) {
          place.note(chunk, position)
          return false
        }
        position += 1
      }
      next = chunk.pointee.next
    }
    return true
  }
}
