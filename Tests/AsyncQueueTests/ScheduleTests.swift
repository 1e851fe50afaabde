import Foundation
import TestSupport
import Testing

@testable import AsyncQueue

/// Claim, suspend, cancel, deadline, room, the actor's end: each against the others, in the orders that
/// seeds choose. `Tests/Model/scenarios/hosted.cpp` covers the engine's own steps in between.
@Suite(.watched, .serialized) struct ScheduleTests {
  /// How an operation is enqueued.
  private enum Form: Int, CaseIterable { case closure, task, throwing, limited, whenRoom, run }

  private actor Account {
    nonisolated let executor: SeededExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    init(_ executor: SeededExecutor) { self.executor = executor }
  }

  /// An operation as its schedule sees it.
  private struct Entry {
    let form: Form
    /// Whether the queue has accepted it; nil while that is not known.
    var isAccepted: Bool?
    var begins = 0
    var ends = 0
    /// It must no longer begin.
    var isOver = false
    /// It must not begin before its task is cancelled.
    var isCancelled = false
    var cancel: (() -> Void)?
  }

  /// One schedule. Only its thread uses it.
  private final class Schedule: @unchecked Sendable {
    // Safe to share: see above.
    let executor: SeededExecutor
    let isFIFO: Bool
    let clock = ManualClock()
    let fifo: FIFOQueue
    let onActor: ActorQueue<Account>
    var account: Account?
    /// The same, which only the queue keeps once the user has let go of it.
    weak var actor: Account?
    var entries: [Entry] = []
    var running = 0
    var lastBegun = -1
    var suspends = 0
    var faults: [String] = []

    init(_ executor: SeededExecutor) {
      self.executor = executor
      isFIFO = executor.choose(2) == 0
      let capacity = executor.choose(2) == 0 ? nil : 1 + executor.choose(2)
      fifo = FIFOQueue(capacity: capacity, clock: clock)
      let account = Account(executor)
      onActor = ActorQueue(of: account, capacity: capacity, clock: clock)
      self.account = account
      actor = account
    }

    func check(_ holds: Bool, _ what: @autoclosure () -> String) {
      if !holds { faults.append(what()) }
    }

    // MARK: Bodies

    /// Returns whether the body suspends, and whether it then gives up its actor.
    func begin(_ number: Int) -> Bool {
      check(suspends == 0, "\(number) begins in a suspended queue")
      check(!entries[number].isOver, "\(entries[number].form) \(number) begins and is over")
      check(
        !entries[number].isCancelled || Task.isCancelled, "\(number) does not know of its cancel")
      entries[number].begins += 1
      if isFIFO { check(running == 0, "\(number) begins beside another one") }
      // Those that wait for room, or begin in their caller, take their places later.
      if entries[number].form.rawValue < Form.whenRoom.rawValue {
        check(number > lastBegun, "\(number) begins after \(lastBegun)")
        lastBegun = number
      }
      running += 1
      return executor.choose(3) == 0
    }

    func end(_ number: Int) {
      running -= 1
      entries[number].ends += 1
    }

    nonisolated(nonsending) func body(_ number: Int) async {
      if begin(number) { await executor.suspend() }
      end(number)
    }

    // MARK: Steps

    func add(_ form: Form) {
      let number = entries.count
      entries.append(Entry(form: form))
      switch form {
      case .closure:
        tryAdding(number) { [self] in
          if isFIFO {
            try fifo.tryEnqueue { await self.body(number) }
          } else {
            try onActor.tryEnqueue { _ in await self.body(number) }
          }
        }
      case .limited:
        let options = OperationOptions.with { $0.maxWait = .seconds(1 + executor.choose(2)) }
        tryAdding(number) { [self] in
          if isFIFO {
            try fifo.tryEnqueue(options) { await self.body(number) }
          } else {
            try onActor.tryEnqueue(options) { _ in await self.body(number) }
          }
        }
      case .task where (isFIFO ? fifo.capacity : onActor.capacity) != nil:
        // Refusals are reported.
        return
      case .task:
        if isFIFO {
          entries[number].cancel = Task(on: fifo) { await self.body(number) }.cancel
        } else if account != nil {
          entries[number].cancel = Task(on: onActor) { _ in await self.body(number) }.cancel
        }
      case .throwing:
        if isFIFO {
          let task = Task(on: fifo) { () async throws in await self.body(number) }
          entries[number].cancel = task.cancel
        } else {
          let task = Task(on: onActor) { (_) async throws in await self.body(number) }
          entries[number].cancel = task.cancel
        }
      case .whenRoom:
        let task = Task.detached { [self] in
          if isFIFO {
            try await fifo.enqueueWhenRoom { await self.body(number) }
          } else {
            try await onActor.enqueueWhenRoom { _ in await self.body(number) }
          }
        }
        entries[number].cancel = task.cancel
      case .run:
        let task = Task.detached { [self] in
          if isFIFO {
            try await fifo.run { () async throws in await body(number) }
          } else {
            try await onActor.run { (_) async throws in await self.body(number) }
          }
        }
        entries[number].cancel = task.cancel
      }
    }

    var statistics: QueueStatistics { isFIFO ? fifo.statistics : onActor.statistics }

    func tryAdding(_ number: Int, _ add: () throws -> Void) {
      do {
        try add()
        entries[number].isAccepted = true
      } catch {
        entries[number].isAccepted = false
        entries[number].isOver = true
      }
    }

    func cancelOne() {
      guard !entries.isEmpty else { return }
      let number = executor.choose(entries.count)
      guard let cancel = entries[number].cancel else { return }
      cancel()
      if entries[number].begins > 0 { return }
      switch entries[number].form {
      case .throwing, .run: entries[number].isOver = true
      case .task: entries[number].isCancelled = true
      // The cancel only reaches the wait for room.
      case .closure, .limited, .whenRoom: break
      }
    }

    func cancelAll() {
      isFIFO ? fifo.cancelAll() : onActor.cancelAll()
      for number in entries.indices where entries[number].begins == 0 {
        switch entries[number].form {
        case .closure, .limited, .throwing: entries[number].isOver = true
        case .task: entries[number].isCancelled = true
        // These may not be in the queue yet.
        case .whenRoom, .run: break
        }
      }
    }

    func passTime() {
      clock.advance(by: .seconds(2))
      for number in entries.indices
      where entries[number].form == .limited && entries[number].begins == 0 {
        entries[number].isOver = true
      }
    }

    func suspend() {
      isFIFO ? fifo.suspend() : onActor.suspend()
      suspends += 1
    }

    func resume() {
      if suspends == 0 { return }
      suspends -= 1
      isFIFO ? fifo.resume() : onActor.resume()
    }

    func run() {
      var steps: [() -> Void] = []
      for _ in 0..<4 + executor.choose(6) {
        switch executor.choose(12) {
        case 0...6: let form = Form(rawValue: executor.choose(6))!; steps.append { self.add(form) }
        case 7: steps.append { self.suspend() }
        case 8: steps.append { self.resume() }
        case 9: steps.append { self.cancelOne() }
        case 10: steps.append { self.executor.choose(2) == 0 ? self.cancelAll() : self.passTime() }
        default: steps.append { self.account = nil }
        }
      }
      executor.take(steps)
      executor.take((0..<suspends).map { _ in { self.resume() } })
      let statistics = statistics
      check(statistics.pending == 0 && statistics.running == 0, "something is left: \(statistics)")
      account = nil
      check(actor == nil, "the queue keeps its actor")
      for (number, entry) in entries.enumerated() {
        check(entry.begins <= 1 && entry.ends == entry.begins, "\(number) begins and ends once")
        if entry.form == .closure && entry.isAccepted == true && !entry.isOver {
          check(entry.begins == 1, "\(number) was accepted, and never ran")
        }
      }
    }
  }

  /// A million schedules with `INTURN_TEST_SCALE=200`.
  @Test(arguments: 0..<40)
  func `what begins may, in order, and all comes to its end, in any order of the jobs`(part: Int)
    async
  {
    let faults = Log<String>()
    let cores = Protected<[() -> QueueCore?]>([])
    let count = scaled(125)
    let seeds = UInt64(part * count)..<UInt64((part + 1) * count)
    let isHooked = await SeededExecutor.run(seeds: seeds) { executor in
      let schedule = Schedule(executor)
      schedule.run()
      for fault in schedule.faults { faults.add("\(executor.seed): \(fault)") }
      let core = { [weak core = schedule.isFIFO ? schedule.fifo.core : schedule.onActor.core] in
        core
      }
      cores.withLock {
        $0.removeAll { $0() == nil }
        $0.append(core)
      }
    }
    await eventually("each queue is gone") { cores.withLock { $0.allSatisfy { $0() == nil } } }
    #expect(isHooked)
    #expect(faults.entries.isEmpty)
  }
}
