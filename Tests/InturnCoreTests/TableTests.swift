import TestSupport
import Testing

@testable import InturnCore

/// Tables of objects and handles compared with a dictionary, under the same random script.
@Suite struct TableTests {
  final class Object {}

  private let directories: SlabDirectories

  init() throws { directories = try #require(SlabDirectories(1)) }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `a slab of objects knows what a dictionary knows`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let slab = ObjectSlab<Object>(.clock, directories)
    var live: [UInt64: Object] = [:]
    var gone: Set<UInt64> = []
    for _ in 0..<20_000 {
      let isAdding = live.isEmpty || (live.count < 100 && Bool.random(using: &random))
      if isAdding {
        let object = Object()
        let added = slab.add(object)
        let handle = try #require(added)
        #expect(live[handle.bits] == nil && !gone.contains(handle.bits))
        live[handle.bits] = object
      } else {
        let bits = try #require(live.keys.sorted().randomElement(using: &random))
        let removed = slab.remove(Handle(bits: bits))
        #expect(removed === live[bits])
        live[bits] = nil
        gone.insert(bits)
      }
      let count = slab.liveCount
      #expect(count == UInt64(live.count))
    }
    let listed = slab.givenOut.compactMap { slab.object(at: $0)?.handle.bits }
    #expect(Set(listed) == Set(live.keys) && listed.count == live.count)
    for (bits, object) in live {
      let found = slab.find(Handle(bits: bits)).1
      #expect(found === object)
      // A slab keeps what it has for as long as the process lives.
      #expect(slab.remove(Handle(bits: bits)) === object)
    }
    for bits in gone {
      let (status, found) = slab.find(Handle(bits: bits))
      #expect(status == .stale && found == nil)
      let removed = slab.remove(Handle(bits: bits))
      #expect(removed == nil)
    }
  }

  struct Element {
    var value: UInt64
  }

  /// As large as a slot.
  struct Large {
    var index: UInt32
    var rest: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0)
    var more: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (
      0, 0, 0, 0, 0, 0, 0, 0
    )
  }

  @Test func `a slab that has grown large has each element once, and none in two pages`() throws {
    let taken = Slab<Large>(directories)
    var (mayHave, grown) = (0, 0)
    for number in 1...150_000 as ClosedRange<UInt32> {
      let next = taken.take(mayGrow: {
        mayHave = Int($0)
        grown += 1
        return true
      })
      let (index, element) = try #require(next)
      #expect(index == number && mayHave >= index)
      #expect(element.pointee.index == 0 && UInt(bitPattern: element) % 128 == 0)
      element.pointee = Large(index: index)
    }
    // 8 MB in small steps, then as much at a time.
    #expect(grown == 16 + 2)
    for index in 1...150_000 as ClosedRange<UInt32> {
      let element = taken.pointer(at: index)
      #expect(element?.pointee.index == index)
    }
  }

  @Test func `a slab that may not grow much at a time grows a little`() {
    let slab = Slab<Large>(directories)
    for _ in 1..<65_536 { _ = slab.take() }
    var asked: [UInt32] = []
    let (much, little): (UInt32, UInt32) = (2 * 65_536 - 1, 65_536 + 4095)
    let next = slab.take(mayGrow: {
      asked.append($0)
      return asked.count > 1
    })
    #expect(next?.index == 65_536)
    #expect(asked == [much, little])
  }

  @Test(arguments: [4, 5] as [UInt64])
  func `a slab keeps its elements where they are and uses free ones again`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let slab = Slab<Element>(directories)
    var live: [UInt32: (value: UInt64, address: UnsafeMutablePointer<Element>)] = [:]
    var highest: UInt32 = 0
    var most = 0
    for step in 0..<50_000 {
      if live.isEmpty || (live.count < 9_000 && random.next() % 5 < 3) {
        let taken = slab.take()
        let (index, element) = try #require(taken)
        #expect(live[index] == nil)
        element.pointee.value = UInt64(step)
        live[index] = (UInt64(step), element)
        highest = max(highest, index)
        most = max(most, live.count)
      } else {
        let index = try #require(live.keys.randomElement(using: &random))
        slab.giveBack(index, retired: false)
        live[index] = nil
      }
    }
    let liveCount = slab.liveCount
    #expect(liveCount == UInt64(live.count))
    #expect(highest == UInt32(most), "no index is taken while another is free")
    for (index, entry) in live {
      let element = slab.pointer(at: index)
      #expect(element == entry.address)
      #expect(element?.pointee.value == entry.value)
    }
    let beyond = slab.pointer(at: Handle.maximumIndex)
    #expect(beyond == nil)
  }

  @Test func `what a slab keeps is only for who asks for that`() {
    // Its last segment has room for three.
    let slab = Slab<Element>(above: Handle.maximumIndex - 3, directories)
    let isKept = slab.keep(1)
    #expect(isKept)
    let taken = [slab.take()?.index, slab.take()?.index, slab.take()?.index]
    #expect(taken == [Handle.maximumIndex - 2, Handle.maximumIndex - 1, nil])
    let canKeepMore = slab.keep(2)
    #expect(!canKeepMore)
    let kept = slab.take(isKept: true)
    #expect(kept?.index == Handle.maximumIndex)
    let none = slab.take(isKept: true)
    #expect(none == nil)
    slab.giveBack(Handle.maximumIndex, retired: false)
    let stillKept = slab.take()
    #expect(stillKept == nil)
  }

  @Test func `a retired element is never used again`() throws {
    let slab = Slab<Element>(directories)
    let first = slab.take()
    slab.giveBack(try #require(first).index, retired: true)
    let second = slab.take()
    #expect(first?.index != second?.index)
  }

  @Test(arguments: [6, 7] as [UInt64])
  func `queues know what a dictionary knows`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var live: [UInt64: UInt64] = [:]
    var gone: Set<UInt64> = []
    for _ in 0..<20_000 {
      let known = live.keys.sorted()
      switch random.next() % 4 {
      case 0 where live.count < 50:
        let (status, queue) = Engine.createQueue(
          QueueOptions(kind: .fifo), executor: Handle(bits: 0), clock: Handle(bits: 0))
        #expect(status == .ok && live[queue.bits] == nil && !gone.contains(queue.bits))
        live[queue.bits] = 0
      case 1:
        guard let bits = known.randomElement(using: &random) else { continue }
        #expect(Engine.destroy(queue: Handle(bits: bits)) == .ok)
        live[bits] = nil
        gone.insert(bits)
      case 2:
        guard let bits = known.randomElement(using: &random) else { continue }
        #expect(Engine.suspend(Handle(bits: bits)) == .ok)
        live[bits]! += 1
      default:
        guard let bits = gone.randomElement(using: &random) else { continue }
        #expect(Engine.suspend(Handle(bits: bits)) == .stale)
        #expect(Engine.destroy(queue: Handle(bits: bits)) == .stale)
      }
    }
    for (bits, suspends) in live {
      let (status, statistics) = Engine.statistics(of: Handle(bits: bits))
      #expect(status == .ok && UInt64(statistics.suspends) == suspends)
      #expect(Engine.destroy(queue: Handle(bits: bits)) == .ok)
    }
  }

  private struct Key: HashKey {
    let number: Int
    /// Some are of several keys.
    var hash: Int { number / 3 }
  }

  private struct Node: HashNode {
    let key: Key
    var nextInBucket: UnsafeMutablePointer<Node>?
  }

  @Test(arguments: [8, 9] as [UInt64])
  func `a hash table knows what a dictionary knows, also while it grows`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var table = HashTable<Node>()
    var live: [Int: UnsafeMutablePointer<Node>] = [:]
    for step in 0..<60_000 {
      let key = Int.random(in: 0..<4_000, using: &random)
      let found = table.find(Key(number: key))
      #expect(found == live[key])
      // It grows, shrinks, and grows again.
      let isGrowing = step / 20_000 != 1
      if let node = live[key] {
        if isGrowing && Int.random(in: 0..<4, using: &random) > 0 { continue }
        table.remove(node)
        live[key] = nil
        node.deallocate()
      } else if isGrowing {
        let node = UnsafeMutablePointer<Node>.allocate(capacity: 1)
        node.initialize(to: Node(key: Key(number: key)))
        table.insert(node)
        live[key] = node
      }
    }
    var told: Set<Int> = []
    table.forEach { told.insert($0.pointee.key.number) }
    let count = table.count
    #expect(count == live.count && told == Set(live.keys))
    for node in live.values { node.deallocate() }
  }

  @Test func `a handle gives back what it was made of`() {
    for kind in HandleKind.allCases {
      for index in [1, 4095, 4096, Handle.maximumIndex] {
        for generation in [1, Handle.maximumGeneration] {
          let handle = Handle(kind, index: index, generation: generation)
          #expect(handle.index == index)
          #expect(handle.generation == generation)
          #expect(handle.isOf(kind))
          for other in HandleKind.allCases where other != kind {
            #expect(!handle.isOf(other))
            #expect(handle.refusal(for: other) == .wrongKind)
          }
        }
      }
    }
    #expect(Handle(bits: 0).refusal(for: .queue) == .nullHandle)
    #expect(Handle(bits: .max).refusal(for: .queue) == .stale)
  }
}
