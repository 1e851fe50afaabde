/// A first-in, first-out buffer.
///
/// Its elements lie in pieces, so that adding and taking one moves no other, however many there are:
/// both are done under a lock. Taking an element moves it out and destroys nothing; whoever takes the
/// last one of a piece gets the piece, to be freed without the lock.
@usableFromInline
@frozen
package struct Backlog<Element> {
  @usableFromInline
  package final class Piece {
    /// Those that have been taken are nil.
    @exclusivity(unchecked) @usableFromInline final var items: [Element?] = []
    @exclusivity(unchecked) @usableFromInline final var taken = 0
    @exclusivity(unchecked) @usableFromInline final var next: Piece?

    @usableFromInline
    init() {}

    deinit {
      // One by one: each would otherwise be released from within the one before.
      while let piece = next {
        next = piece.next
        piece.next = nil
      }
    }
  }

  /// A piece of this many is short enough to come from the library's own memory.
  @inlinable
  static var mostInPiece: Int { Swift.max(1, Swift.min(64, 8000 / MemoryLayout<Element?>.stride)) }

  /// Only the last piece may be empty. Copies share the pieces until one of them is changed.
  @usableFromInline var firstPiece: Piece?
  @usableFromInline var lastPiece: Unmanaged<Piece>?
  @usableFromInline package var count = 0

  @inlinable
  package init() {}

  @inlinable
  package var isEmpty: Bool { count == 0 }

  @inlinable
  package var first: Element? {
    guard count > 0, let piece = firstPiece else { return nil }
    return piece.items[piece.taken]
  }

  @inlinable
  package mutating func append(_ element: consuming Element) {
    claim()
    count += 1
    if lastPiece?._withUnsafeGuaranteedRef({ $0.items.count < Self.mostInPiece }) != true {
      add(Piece())
    }
    var element = Optional(element)
    lastPiece.unsafelyUnwrapped._withUnsafeGuaranteedRef { $0.items.append(element.take()) }
  }

  @inlinable
  mutating func add(_ piece: Piece) {
    if let lastPiece { lastPiece.takeUnretainedValue().next = piece } else { firstPiece = piece }
    lastPiece = .passUnretained(piece)
  }

  @inlinable
  package mutating func popFirst(_ spent: inout Piece?) -> Element? {
    if count == 0 { return nil }
    claim()
    count -= 1
    var element: Element?
    let isSpent = Unmanaged.passUnretained(firstPiece.unsafelyUnwrapped)._withUnsafeGuaranteedRef {
      swap(&element, &$0.items[$0.taken])
      $0.taken += 1
      if count == 0 {
        $0.items.removeAll(keepingCapacity: true)
        $0.taken = 0
      }
      return $0.taken == $0.items.count && count > 0
    }
    if isSpent {
      spent = firstPiece
      firstPiece = spent.unsafelyUnwrapped.next
      spent.unsafelyUnwrapped.next = nil
    }
    return element
  }

  /// Copies the pieces if a copy of the buffer has them, too.
  @inlinable
  mutating func claim() {
    if firstPiece != nil && !isKnownUniquelyReferenced(&firstPiece) { copyPieces() }
  }

  @inlinable @inline(never)
  mutating func copyPieces() {
    var rest = firstPiece
    (firstPiece, lastPiece) = (nil, nil)
    while let piece = rest {
      let copy = Piece()
      (copy.items, copy.taken) = (piece.items, piece.taken)
      add(copy)
      rest = piece.next
    }
  }

  /// For comparisons.
  @inlinable
  var elements: [Element] {
    var elements: [Element] = []
    var piece = firstPiece
    while let here = piece {
      elements += here.items[here.taken...].compactMap { $0 }
      piece = here.next
    }
    return elements
  }
}

extension Backlog: Equatable where Element: Equatable {
  @inlinable
  package static func == (left: Self, right: Self) -> Bool { left.elements == right.elements }
}

extension Backlog: Hashable where Element: Hashable {
  @inlinable
  package func hash(into hasher: inout Hasher) { hasher.combine(elements) }
}
