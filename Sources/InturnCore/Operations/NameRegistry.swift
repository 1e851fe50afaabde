/// Which operations hold or wait for which names. Of the operations that share a name, one runs at
/// a time.
///
/// An operation asks for all of its names at once, when it could otherwise start, and enters the
/// line of each under one lock. So of any two operations, the same one is ahead in every line that
/// they share: no order of names can form a ring, and latecomers stand behind.
final class NameRegistry: @unchecked Sendable {
  // Safe to share: `lock` protects all that is in it, and all `NameClaims`.

  /// Taken while a lane's lock is held, never the other way round.
  private let lock = BriefLock()
  @exclusivity(unchecked) private var lines = HashTable<NameLine>()
  /// How many operations have entered the lines so far.
  @exclusivity(unchecked) private var claimed: UInt64 = 0
  /// Memory for the next line, as most names are soon without an operation.
  @exclusivity(unchecked) private var spare: UnsafeMutablePointer<NameLine>?

  deinit { spare?.deallocate() }

  /// Puts an operation into the line of each of its names. True when it has them all.
  @_optimize(speed)
  func claim(_ claims: NameClaims.Pointer, for slot: OperationSlot.Pointer) -> Bool {
    lock.lock()
    defer { lock.unlockAfterReadingObject() }
    claims.pointee.slot = slot
    claimed += 1
    claims.pointee.turn = claimed
    for place in claims.places {
      let name = HashedBytes(place.pointee.name)
      let line = lines.find(name) ?? addLineLocked(name)
      if let last = line.pointee.last {
        // The same name was given twice.
        if last.pointee.claims == claims { continue }
        last.pointee.next = place
        claims.pointee.waitingFor += 1
      } else {
        line.pointee.first = place
      }
      place.pointee.line = line
      place.pointee.previous = line.pointee.last
      line.pointee.last = place
    }
    return claims.pointee.waitingFor == 0
  }

  private func addLineLocked(_ name: HashedBytes) -> UnsafeMutablePointer<NameLine> {
    let line = spare ?? UnsafeMutablePointer<NameLine>.allocate(capacity: 1)
    spare = nil
    line.initialize(to: NameLine(key: name))
    lines.insert(line)
    return line
  }

  /// Takes an operation out of its lines. Returns the operations that now have all their names, in
  /// the order in which they came, each with a reference.
  @_optimize(speed)
  func release(_ claims: NameClaims.Pointer) -> [OperationSlot.Pointer] {
    lock.lock()
    defer { lock.unlockAfterReadingObject() }
    var granted: [Keyed] = []
    for place in claims.places {
      guard let line = place.pointee.line else { continue }
      let (previous, next) = (place.pointee.previous, place.pointee.next)
      if let previous {
        previous.pointee.next = next
      } else {
        line.pointee.first = next
        if let claims = next?.pointee.claims {
          claims.pointee.waitingFor -= 1
          if claims.pointee.waitingFor == 0, let slot = claims.pointee.slot {
            slot.addReference()
            granted.append(Keyed(UInt(bitPattern: slot), by: claims.pointee.turn))
          }
        }
      }
      if let next { next.pointee.previous = previous } else { line.pointee.last = previous }
      if let first = line.pointee.first {
        line.pointee.key.bytes = first.pointee.name
      } else {
        lines.remove(line)
        spare?.deallocate()
        spare = line
      }
      place.pointee.line = nil
      place.pointee.next = nil
      place.pointee.previous = nil
    }
    claims.pointee.slot = nil
    claims.pointee.waitingFor = 0
    Keyed.sort(&granted)
    return granted.map { OperationSlot.Pointer(bitPattern: $0.word).unsafelyUnwrapped }
  }

  /// Adds the operation ahead of this one in each line, with a reference; if this one has not
  /// entered the lines yet, the last one in each.
  func addAhead(of claims: NameClaims.Pointer, to slots: inout [OperationSlot.Pointer]) {
    lock.lock()
    defer { lock.unlockAfterReadingObject() }
    for place in claims.places {
      var ahead = place.pointee.previous
      if claims.pointee.slot == nil {
        ahead = lines.find(HashedBytes(place.pointee.name))?.pointee.last
      }
      guard let slot = ahead?.pointee.claims.pointee.slot, slot.tryAddReference() else { continue }
      slots.append(slot)
    }
  }

  /// Whether somebody stands behind an operation in a line.
  func isAwaited(_ claims: NameClaims.Pointer) -> Bool {
    lock.withLock { claims.places.contains { $0.pointee.next != nil } }
  }

  /// Whether an operation has one of its names, waits for it, or (nil) has not asked for it yet;
  /// and which operation is directly ahead in the line. Nil for the second copy of a name that was
  /// given twice.
  func state(
    of claims: NameClaims.Pointer, at place: Int
  ) -> (state: OperationState?, before: Handle)? {
    lock.lock()
    defer { lock.unlockAfterReadingObject() }
    let place = claims.places.lowerBound + place
    if place.pointee.line == nil {
      return claims.pointee.slot == nil ? (nil, Handle(bits: 0)) : nil
    }
    guard let slot = place.pointee.previous?.pointee.claims.pointee.slot else {
      return (.running, Handle(bits: 0))
    }
    return (.pending, Handle(.operation, index: slot.index, generation: slot.firstGeneration))
  }

  /// How many names an operation was given. That does not change, but what lies around it may.
  func count(of claims: NameClaims.Pointer) -> Int { lock.withLock { claims.pointee.count } }

  /// How many names are held.
  var count: Int { lock.withLock { lines.count } }
}

/// The names of one operation, in one piece of memory with their places and texts. The registry's
/// lock protects them.
struct NameClaims {
  typealias Pointer = UnsafeMutablePointer<NameClaims>

  /// How many names were given, including repeated ones.
  let count: Int
  fileprivate(set) var waitingFor = 0
  /// The operation, while it stands in the lines.
  fileprivate(set) var slot: OperationSlot.Pointer?
  /// The order in which operations entered the lines.
  fileprivate var turn: UInt64 = 0
  /// Whether it stands in the lines. Protected by the lock of the operation's lane.
  var isMade = false
  /// Tells the operation that it has its names.
  let edge: Edge.Pointer
  fileprivate let first: UnsafeMutablePointer<NamePlace>
}

extension NameClaims {
  fileprivate static var edgeAt: Int { MemoryLayout<NameClaims>.stride }
  fileprivate static var placesAt: Int { edgeAt + MemoryLayout<Edge>.stride }

  /// How much memory the claims of these names take.
  static func byteCount(of names: UnsafeBufferPointer<UnsafePointer<CChar>>) -> Int {
    names.reduce(placesAt + names.count * MemoryLayout<NamePlace>.stride) {
      $0 + Bytes($1).byteCount
    }
  }
}

extension NameClaims.Pointer {
  /// Makes claims in this memory, which is aligned for words.
  init(_ names: UnsafeBufferPointer<UnsafePointer<CChar>>, at memory: UnsafeMutableRawPointer) {
    self = memory.bindMemory(to: NameClaims.self, capacity: 1)
    let edge = (memory + NameClaims.edgeAt).bindMemory(to: Edge.self, capacity: 1)
    let placesMemory = memory + NameClaims.placesAt
    let first = placesMemory.bindMemory(to: NamePlace.self, capacity: names.count)
    initialize(to: NameClaims(count: names.count, edge: edge, first: first))
    var room = placesMemory + names.count * MemoryLayout<NamePlace>.stride
    for (place, text) in names.enumerated() {
      let name = Bytes(Bytes(text), copiedTo: room)
      (first + place).initialize(to: NamePlace(name: name, claims: self))
      room += name.byteCount
    }
  }

  func name(at place: Int) -> Bytes { pointee.first[place].name }

  /// One place for each name that was given.
  fileprivate var places: Range<UnsafeMutablePointer<NamePlace>> {
    pointee.first..<pointee.first + pointee.count
  }
}

/// An operation's place in the line of a name. The registry's lock protects it.
private struct NamePlace {
  let name: Bytes
  /// The claims that this place belongs to.
  let claims: NameClaims.Pointer
  var line: UnsafeMutablePointer<NameLine>?
  var previous: UnsafeMutablePointer<NamePlace>?
  var next: UnsafeMutablePointer<NamePlace>?
}

/// The operations in line for a name: the first one has it.
private struct NameLine: HashNode {
  /// The first operation's own copy.
  var key: HashedBytes
  var nextInBucket: UnsafeMutablePointer<NameLine>?
  var first: UnsafeMutablePointer<NamePlace>?
  var last: UnsafeMutablePointer<NamePlace>?
}
