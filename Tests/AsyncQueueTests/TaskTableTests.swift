import InturnCore
import TestSupport
import Testing

import struct TestSupport.SeededGenerator

@testable import AsyncQueue

/// The table of tasks compared with a dictionary, with addresses that no task has, some of them in
/// several cases.
@Suite(.watched, .serialized) struct TaskTableTests {
  /// Where tasks could be in memory: `runs` runs of `length` tasks, `stride` bytes apart.
  struct Layout: CustomTestStringConvertible {
    let stride: UInt
    let runs: UInt
    let length: UInt

    var testDescription: String { "\(runs) runs of \(length), \(stride) bytes apart" }

    var addresses: [TaskAddress] {
      (0..<runs).flatMap { run in
        (0..<length).map { TaskAddress(bits: 1 << 60 + run << 26 + $0 * stride) }
      }
    }

    static let all = [
      // As close as tasks can be, and mostly are.
      Layout(stride: 304, runs: 1, length: 3_000),
      Layout(stride: 304, runs: 20, length: 100),
      Layout(stride: 1_600, runs: 3, length: 1_000),
      // One in each block, and all at the same place in their blocks.
      Layout(stride: 1 << 14, runs: 1, length: 3_000),
    ]
  }

  @Test(arguments: Layout.all)
  func `a task is found from when it is added until it is removed`(layout: Layout) {
    let core = QueueCore(.fifo, label: nil, capacity: nil, clock: nil)
    let addresses = layout.addresses
    let frames = addresses.map { _ in Ticket(core, priority: nil, registry: nil) }
    var isIn = addresses.map { _ in false }
    var random = SeededGenerator(seed: 1)
    // At first many are added, in some order, while some are removed; then all are removed.
    for chance in [8, 4, 1] as [UInt64] {
      for index in addresses.indices.shuffled(using: &random) {
        let isToBeIn = chance > 1 && !random.next().isMultiple(of: chance)
        if isToBeIn == isIn[index] { continue }
        isIn[index] = isToBeIn
        if isToBeIn {
          TaskTable.add(frames[index], of: addresses[index])
        } else {
          TaskTable.remove(addresses[index])
        }
      }
      for (index, address) in addresses.enumerated() {
        #expect(TaskTable.find(address) === (isIn[index] ? frames[index] : nil))
      }
    }
  }

  @Test func `a task of which is told late is not taken for that of the next attempt`() {
    let core = QueueCore(.fifo, label: nil, capacity: nil, clock: nil)
    let turn = Turn(core, isObstinate: false)
    let tasks = (0..<3).map { TaskAddress(bits: 1 << 62 + $0 << 9) }
    let attempts = (0..<2).map { _ in turn.goesOn { true }!.attempt }
    turn.adopt(tasks[0])
    turn.adopt(tasks[2], attempt: attempts[1])
    turn.adopt(tasks[1], attempt: attempts[0])
    #expect(tasks.map { TaskTable.find($0) === turn } == [false, false, true])
    turn.letGo()
    #expect(tasks.allSatisfy { TaskTable.find($0) == nil })
    core.release()
  }

  @Test func `as many threads as there are may add, find and remove at once`() async {
    let core = QueueCore(.fifo, label: nil, capacity: nil, clock: nil)
    await withTaskGroup { group in
      for thread in 0..<4 as Range<UInt> {
        group.addTask {
          let frame = Ticket(core, priority: nil, registry: nil)
          for round in 0..<200 as Range<UInt> {
            // They have the same blocks as other threads' tasks, so that they meet in the table.
            let addresses = (0..<50).map {
              TaskAddress(bits: 1 << 61 + (4 * (round + $0) + thread) << 9)
            }
            for address in addresses { TaskTable.add(frame, of: address) }
            for address in addresses { #expect(TaskTable.find(address) === frame) }
            for address in addresses { TaskTable.remove(address) }
            for address in addresses { #expect(TaskTable.find(address) == nil) }
          }
        }
      }
    }
  }
}
