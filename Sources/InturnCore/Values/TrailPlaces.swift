/// The places of a trail's observations, in the order of their numbers.
///
/// They lie in pieces, so that adding or removing one moves no more than a piece, however many there
/// are: the trail's lock is held meanwhile. Pieces that have become sparse are not joined.
@usableFromInline
@frozen
package struct TrailPlaces<Value>: BidirectionalCollection {
  @usableFromInline
  package typealias Place = TrailMachine<Value>.Place

  @usableFromInline
  @frozen
  package struct Index: Hashable, Comparable {
    @usableFromInline var piece = 0
    @usableFromInline var offset = 0

    @inlinable
    init(_ piece: Int, _ offset: Int) { (self.piece, self.offset) = (piece, offset) }

    @inlinable
    package static func < (left: Index, right: Index) -> Bool {
      (left.piece, left.offset) < (right.piece, right.offset)
    }
  }

  /// A piece of this many is short enough to come from the library's own memory.
  @inlinable
  package static var mostInPiece: Int { 32 }

  /// None is empty.
  @usableFromInline var pieces: [[Place]] = []

  @inlinable
  init() {}

  @inlinable
  package var startIndex: Index { Index(0, 0) }

  @inlinable
  package var endIndex: Index { Index(pieces.count, 0) }

  @inlinable
  package func index(after index: Index) -> Index {
    index.offset + 1 < pieces[index.piece].count
      ? Index(index.piece, index.offset + 1) : Index(index.piece + 1, 0)
  }

  @inlinable
  package func index(before index: Index) -> Index {
    index.offset > 0
      ? Index(index.piece, index.offset - 1)
      : Index(index.piece - 1, pieces[index.piece - 1].count - 1)
  }

  @inlinable
  package var isEmpty: Bool { pieces.isEmpty }

  @inlinable
  var hasOne: Bool { pieces.count == 1 && pieces[0].count == 1 }

  @inlinable
  package subscript(index: Index) -> Place {
    _read { yield pieces[index.piece][index.offset] }
    _modify { yield &pieces[index.piece][index.offset] }
  }

  /// The index of the first place whose number is not below this one.
  @inlinable
  package func index(from id: UInt64) -> Index {
    if hasOne { return pieces[0][0].id >= id ? startIndex : endIndex }
    let piece = Self.lowest(pieces.count) { pieces[$0].last.unsafelyUnwrapped.id >= id }
    if piece == pieces.count { return endIndex }
    return Index(piece, Self.lowest(pieces[piece].count) { pieces[piece][$0].id >= id })
  }

  /// The lowest number that passes, below `count`, or else that. All above it pass, too.
  @inlinable
  static func lowest(_ count: Int, _ passes: (Int) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if passes(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }

  @inlinable
  mutating func append(_ place: Place) {
    let last = pieces.count - 1
    if last >= 0 && pieces[last].count < Self.mostInPiece {
      pieces[last].append(place)
    } else {
      pieces.append([place])
    }
  }

  /// Removes a place. A cursor at another one stays there; one at this moves to the next.
  @inlinable
  mutating func remove(at index: Index, keeping cursor: inout Index) -> Place {
    let place = pieces[index.piece].remove(at: index.offset)
    if pieces[index.piece].isEmpty {
      pieces.remove(at: index.piece)
      if cursor.piece > index.piece { cursor.piece -= 1 }
    } else if cursor.piece == index.piece {
      if cursor.offset > index.offset { cursor.offset -= 1 }
      if cursor.offset == pieces[cursor.piece].count { cursor = Index(cursor.piece + 1, 0) }
    }
    return place
  }
}

extension TrailPlaces: Equatable where Value: Equatable {}
extension TrailPlaces: Hashable where Value: Hashable {}
