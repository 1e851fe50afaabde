import Testing

@testable import InturnCore

/// The places of observations, and the buffer of changes, compared with plain arrays.
@Suite struct TrailPlacesTests {
  typealias Place = TrailMachine<Int>.Place

  private let name = UnsafeRawPointer(bitPattern: 1)!

  private func place(_ id: UInt64) -> Place {
    Place(id: id, observer: name, manner: TrailManner(), since: 0)
  }

  /// `lasting` of `outOf` steps add a place, the others remove one.
  @Test(arguments: [(9, 10), (5, 10), (3, 10)])
  func `places are kept in order, and a cursor at its place`(adds: Int, outOf all: Int) {
    var random = SystemRandomNumberGenerator()
    var places = TrailPlaces<Int>()
    var expected: [UInt64] = []
    var cursor = places.startIndex
    /// The number of the place under the cursor; nil at the end.
    var pointed: UInt64?
    for id in 1...1000 as ClosedRange<UInt64> {
      if Int.random(in: 0..<all, using: &random) < adds || expected.isEmpty {
        places.append(place(id))
        expected.append(id)
      } else {
        let at = Int.random(in: expected.indices, using: &random)
        let gone = expected.remove(at: at)
        let index = places.index(from: gone)
        #expect(places.remove(at: index, keeping: &cursor).id == gone)
        if pointed == gone { pointed = at < expected.count ? expected[at] : nil }
      }
      #expect(places.map(\.id) == expected)
      #expect(places.hasOne == (expected.count == 1))
      if let pointed { #expect(places[cursor].id == pointed) }
      if id % 7 == 0, let some = expected.randomElement(using: &random) {
        cursor = places.index(from: some)
        pointed = some
      }
    }
    for id in 0...1001 as ClosedRange<UInt64> {
      let index = places.index(from: id)
      #expect((index < places.endIndex ? places[index].id : nil) == expected.first { $0 >= id })
    }
    #expect(Array(places.reversed().map(\.id)) == expected.reversed())
  }

  @Test func `a closed trail ends its observations by pieces, from the last`() {
    var machine = TrailMachine<Int>()
    let count = 3 * TrailPlaces<Int>.mostInPiece + 1
    for _ in 1...count { #expect(machine.add(name, TrailManner()) != nil) }
    var bound = UInt64.max
    #expect(machine.sweep(below: &bound, closing: false) == nil)
    machine.close()
    var gone: [UInt64] = []
    while let swept = machine.sweep(below: &bound, closing: true) {
      #expect((1...TrailPlaces<Int>.mostInPiece).contains(swept.gone.count))
      gone += swept.gone.map(\.id)
    }
    #expect(gone == (1...UInt64(count)).reversed())
    #expect(machine.places.isEmpty)
  }

  @Test func `a buffer gives its elements in order, and copies are independent`() {
    var backlog = Backlog<Int>()
    var spent: Backlog<Int>.Piece?
    var expected: [Int] = []
    for number in 0..<5000 {
      // Grows to some hundreds, becomes empty, and again.
      if number % 1000 < 700 {
        backlog.append(number)
        expected.append(number)
      } else {
        for _ in 0..<3 {
          let first = expected.isEmpty ? nil : expected.removeFirst()
          #expect(backlog.popFirst(&spent) == first)
        }
      }
      #expect(backlog.count == expected.count && backlog.first == expected.first)
      if number % 97 == 0 {
        var copy = backlog
        #expect(copy == backlog && copy.elements == expected)
        copy.append(-1)
        _ = copy.popFirst(&spent)
        #expect(copy.elements == expected.dropFirst() + [-1] || expected.isEmpty)
        #expect(backlog.elements == expected)
      }
    }
  }

  @Test func `a long buffer is freed without recursion`() {
    var backlog = Backlog<Int>()
    for number in 0..<2_000_000 { backlog.append(number) }
    #expect(backlog.count == 2_000_000)
  }
}
