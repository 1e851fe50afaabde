import TestSupport
import Testing

@testable import InturnCore

/// The parts of a lane that are values, each tested alone.
@Suite struct LanePartsTests {
  // MARK: Suspensions

  @Test func `a suspend is taken back by its own reason only`() {
    var suspensions = Suspensions()
    let (upload, login) = (KeptText("upload"), KeptText("login"))
    defer { withExtendedLifetime((upload, login)) {} }
    let added = [upload, upload, nil].map { suspensions.add($0?.bytes) }
    let count = suspensions.count
    #expect(added == [true, true, true] && count == 3)
    // Only one suspend without a reason, and two with `upload`, can be taken back.
    let back = [login, nil, nil, upload, upload, upload].map { suspensions.takeBack($0?.bytes) }
    let left = suspensions.count
    #expect(back == [false, true, false, true, true, false] && left == 0)
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `suspensions are a bag`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var suspensions = Suspensions()
    var bag: [Int: Int] = [:]
    for step in 0..<20_000 {
      // Many at first, then fewer.
      let number = Int.random(in: 0..<500, using: &random)
      let text = number == 0 ? nil : KeptText("reason \(number)")
      defer { withExtendedLifetime(text) {} }
      let reason = text?.bytes
      if Int.random(in: 0..<20_000, using: &random) > step {
        let isAdded = suspensions.add(reason)
        #expect(isAdded)
        bag[number, default: 0] += 1
      } else {
        let isThere = suspensions.takeBack(reason)
        #expect(isThere == (bag[number] != nil))
        bag[number] = bag[number].flatMap { $0 > 1 ? $0 - 1 : nil }
      }
      let count = suspensions.count
      #expect(count == UInt32(bag.values.reduce(0, +)))
    }
  }

  // MARK: Ends

  @Test func `each end is counted as what it was, and finished ones elsewhere`() {
    var ends = EndCounts()
    for (times, outcome) in Outcome.allCases.enumerated() { ends.add(outcome, UInt64(times)) }
    let counts = [ends.failed, ends.cancelled, ends.timedOut, ends.abandoned]
    let outcomes: [Outcome] = [.failed, .cancelled, .timedOut, .abandoned]
    #expect(counts == outcomes.map { UInt64(Outcome.allCases.firstIndex(of: $0)!) })
    #expect(ends.sum == counts.reduce(0, +))
  }

  // MARK: Deliveries

  @Test func `deliveries come in their order, and one that is put first comes first`() {
    // Zeroed, as the slab does it.
    let size = 4 * MemoryLayout<OperationSlot>.stride
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: size, alignment: 64)
    defer { memory.deallocate() }
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
    let slots = memory.bindMemory(to: OperationSlot.self, capacity: 4)
    var deliveries = Deliveries()
    var told: [Int] = []
    func tell(_ count: Int) {
      for _ in 0..<count { told.append(deliveries.pop().map { $0 - slots } ?? -1) }
    }
    deliveries.append(slots)
    deliveries.append(slots + 1)
    deliveries.prepend(slots + 2)
    tell(2)
    deliveries.append(slots + 3)
    tell(3)
    deliveries.prepend(slots)
    deliveries.append(slots + 1)
    tell(3)
    #expect(told == [2, 0, 1, 3, -1, 0, 1, -1])
  }

  // MARK: Executors

  @Test func `drainers that wait elsewhere are counted until they arrive`() {
    let pool = Executor(label: nil)
    let (first, second) = (Executor(label: nil), Executor(label: nil))
    func address(_ executor: Executor) -> UnsafeRawPointer {
      UnsafeRawPointer(Unmanaged.passUnretained(executor).toOpaque())
    }
    var executors = LaneExecutors()
    defer { executors.all.forEach { $0.release() } }
    func change(to executor: Executor, scheduled: UInt16) -> Bool {
      executors.change(to: executor, scheduled: scheduled, pool: pool)
    }
    let isNew = [change(to: first, scheduled: 2), change(to: first, scheduled: 2)]
    #expect(isNew == [true, false] && executors.awayCount == 2)
    executors.drainerArrives(from: address(pool))
    executors.drainerArrives(from: address(first))
    #expect(executors.awayCount == 1)
    let isSecondNew = change(to: second, scheduled: 3)
    #expect(isSecondNew && executors.awayCount == 3)
    #expect(executors.former(of: 3) == address(pool) && executors.former(of: 4) == nil)
    // It was kept, and drainers that wait at it are where they should be.
    let isFirstNew = change(to: first, scheduled: 3)
    #expect(!isFirstNew && executors.awayCount == 1)
    executors.drainerArrives(from: address(pool))
    #expect(executors.awayCount == 0)
    #expect(Set(executors.all.map { $0.toOpaque() }).count == 2)
  }

  // MARK: What a lane has besides its line

  @Test func `a label lies by itself until there is more`() {
    var more = LaneMore()
    defer { more.release() }
    #expect(more.extra == nil && more.label == nil)
    more.setLabel("uploads".withCString { $0.copied() })
    #expect(more.extra == nil)
    #expect(more.label.map { String(cString: $0) } == "uploads")
    let extra = more.addExtra()
    #expect(more.extra == extra)
    #expect(more.label.map { String(cString: $0) } == "uploads")
  }
}
