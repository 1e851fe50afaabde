/// How far a walk through a buffer has come, which goes on after its lane was unlocked.
///
/// The chunk may be another buffer's by then: each one that is taken from the pool has a number of its
/// own. One that is gone was read to its end, as was all before it.
struct JobPlace {
  private var chunk: Chunk.Pointer?
  private var number: UInt32 = 0
  private var round: UInt32 = 0
  private var position: UInt32 = 0

  fileprivate func isIn(_ chunk: Chunk.Pointer) -> Bool {
    chunk == self.chunk && chunk.pointee.number == number
  }

  /// Where to go on in the chunk. When jobs were squeezed out of it, nobody knows.
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
  /// Tells each job from a place on, until `body` says that it is enough, of which one the next walk
  /// begins then. False when it has.
  func forEach(from place: inout JobPlace, _ body: (Job) -> Bool) -> Bool {
    var found = head
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
