import Testing

@testable import InturnCore

extension TrailMachine {
  fileprivate func hasTold(_ number: UInt64) -> Bool {
    var bound: UInt64 = 0
    while true {
      if let hasTold = hasTold(number, from: &bound) { return hasTold }
    }
  }

  /// The observations that pull and have to be told of the end, when nothing else is left.
  fileprivate var pulledToEnd: [UInt64] {
    var (machine, bound, pulled) = (self, UInt64.max, [UInt64]())
    while let swept = machine.sweep(below: &bound, closing: false) {
      #expect(swept.gone.isEmpty)
      pulled += swept.pulled
    }
    return pulled
  }
}

/// The trail's machine in every state that a few changes, observers and cancellations can lead to,
/// whichever thread is faster.
///
/// A small world stands for what surrounds the machine: the delivering thread, which is before a step
/// or in a call; a worker that looks into a mailbox; and what each observer has been told.
@Suite struct TrailMachineTests {
  /// What an observer has seen, and has to see.
  struct Seen: Hashable {
    /// The last value that it was told, or the value when it began.
    var last: Int
    var isCancelled = false
    /// Whether cancelling has reported that it is not being called.
    var isGone = false
    var isReleased = false
    var beganAt: Int
  }

  struct TrailWorld: World {
    var machine = TrailMachine<Int>()
    var value = 0
    /// By the number of the observation, less one.
    var seen: [Seen] = []
    /// The entry that the delivering thread is telling.
    var told: TrailEntry<Int>?
    /// The observation that is being called inline; its observer has been released.
    var called: UInt64?
    var isLeaving = false
    /// The mailbox that a worker was asked to look into, and the call that it is in.
    var posts = 0
    var run: UInt64?
    var isRunLeaving = false
    /// What must never happen.
    var errors: Set<String> = []

    let manners: [TrailManner]
    let changes: Int

    mutating func note(_ holds: Bool, _ what: String) {
      if !holds { errors.insert(what) }
    }

    mutating func change() {
      let old = value
      value += 1
      machine.number += 1
      let entry = TrailEntry(number: machine.number, old: old, new: value)
      if machine.places.isEmpty { return }
      if let (_, id) = machine.beginPlainCall() {
        told = entry
        beginCall(id, entry)
      } else if let first = machine.begin(entry) {
        told = first
      }
    }

    mutating func postpone() {
      let old = value
      value += 1
      machine.number += 1
      if machine.places.isEmpty { return }
      machine.postpone(TrailEntry(number: machine.number, old: old, new: value))
    }

    mutating func observe() {
      let manner = manners[seen.count]
      let name = UnsafeRawPointer(bitPattern: seen.count + 1)!
      guard let id = machine.add(name, manner) else { return }
      note(id == UInt64(seen.count + 1), "observations are numbered")
      seen.append(Seen(last: value, beganAt: value))
      if manner.initial {
        let entry = TrailEntry(
          number: machine.number, target: id, kind: .initial, old: nil, new: value)
        if let first = machine.begin(entry) { told = first }
      }
    }

    /// An observer is called.
    mutating func beginCall(_ id: UInt64, _ entry: TrailEntry<Int>, isRun: Bool = false) {
      let index = Int(id) - 1
      note(!seen[index].isGone && !seen[index].isReleased, "called after its end")
      if isRun { run = id } else { called = id }
      switch entry.kind {
      case .initial: note(entry.new == seen[index].beganAt, "an initial value is another one")
      case .prior: note(entry.old == seen[index].last, "a prior one comes out of turn")
      case .change:
        note(entry.old == seen[index].last, "a gap")
        note(entry.new > seen[index].last, "told twice")
        seen[index].last = entry.new
      }
    }

    mutating func step() {
      let step = machine.next(for: told!)
      switch step.action {
      case .call:
        var entry = told!
        if step.isPrior { entry.kind = .prior }
        if let old = step.heldOld { entry.old = old }
        beginCall(step.id, entry)
      case .post: posts += 1
      case .discard: break
      case .over: told = machine.nextEntry()
      }
    }

    mutating func endCall() {
      let id = called!
      if isLeaving {
        note(machine.callLeft().id == id, "another one leaves")
        isLeaving = false
        called = nil
      } else if machine.places.hasOne && machine.endPlainCall() {
        called = nil
        told = nil
      } else if machine.callEnded() {
        called = nil
      } else {
        seen[Int(id) - 1].isReleased = true
        isLeaving = true
      }
    }

    mutating func cancel(_ index: Int) {
      let isCalled = called == UInt64(index + 1) || run == UInt64(index + 1)
      switch machine.cancel(UInt64(index + 1)) {
      case .gone: note(seen[index].isGone || seen[index].isReleased, "it is still there")
      case .removed:
        note(!isCalled, "removed in the middle of a call")
        seen[index].isGone = true
      case .runs: note(isCalled, "it is not being called")
      }
      seen[index].isCancelled = true
    }

    mutating func lookIntoMailbox() {
      let id = UInt64(manners.firstIndex { $0.hasMailbox }! + 1)
      guard let (_, entry) = machine.beginRun(id) else {
        posts -= 1
        return
      }
      beginCall(id, entry, isRun: true)
    }

    mutating func endRun() {
      let id = run!
      if isRunLeaving {
        note(machine.runLeft(id).id == id, "another one leaves")
        isRunLeaving = false
        run = nil
      } else if machine.runEnded(id) {
        run = nil
      } else {
        seen[Int(id) - 1].isReleased = true
        isRunLeaving = true
      }
    }

    func explore(_ events: inout Events<Self>) {
      if !errors.isEmpty { return }
      events.event(value < changes) { $0.change() }
      events.event(value < changes && manners.count == 1) { $0.postpone() }
      events.event(!machine.isDelivering && told == nil) {
        if let first = $0.machine.resume() { $0.told = first }
      }
      events.event(seen.count < manners.count) { $0.observe() }
      events.event(told != nil && called == nil) { $0.step() }
      events.event(called != nil) { $0.endCall() }
      for index in seen.indices where !seen[index].isCancelled {
        events.event { $0.cancel(index) }
      }
      events.event(posts > 0 && run == nil) { $0.lookIntoMailbox() }
      events.event(run != nil) { $0.endRun() }
    }

    /// Only changes, observations and cancellations are left to do.
    var isQuiet: Bool {
      told == nil && called == nil && run == nil && posts == 0 && !machine.isDelivering
    }
  }

  private func manner(_ change: (inout TrailManner) -> Void) -> TrailManner {
    var manner = TrailManner()
    change(&manner)
    return manner
  }

  private func check(_ manners: [TrailManner], changes: Int) {
    let worlds = TrailWorld(manners: manners, changes: changes).reachable()
    var quiet = 0
    for world in worlds {
      #expect(world.errors.isEmpty)
      #expect(world.machine.isDelivering == (world.told != nil))
      // The value is the number of its changes. A wait for one to be delivered returns rightly.
      for number in 0...world.value where world.machine.hasTold(UInt64(number)) {
        for seen in world.seen where !seen.isCancelled { #expect(seen.last >= number) }
      }
      if world.isQuiet && world.machine.hasTold(world.machine.number) { quiet += 1 }
      // Everything ends.
      if world.isQuiet { #expect(world.machine.places.allSatisfy { !$0.isRunning }) }
    }
    #expect(quiet > 0)
    #expect(worlds.count > 100)
  }

  @Test func `two plain observers see every change once, in order, whatever happens meanwhile`() {
    check([TrailManner(), TrailManner()], changes: 3)
  }

  @Test func `so do those who begin with a value, and those who are told before`() {
    check([manner { $0.prior = true }, manner { $0.initial = true }], changes: 3)
  }

  @Test func `one who wants the latest only sees no gap`() {
    check([TrailManner(), manner { $0.latest = true }], changes: 4)
  }

  @Test func `one with a mailbox sees every change once, in order`() {
    check([TrailManner(), manner { $0.hasMailbox = true }], changes: 3)
  }

  @Test func `one with a mailbox that wants the latest only sees no gap`() {
    check(
      [
        manner {
          $0.hasMailbox = true
          $0.latest = true
        }, TrailManner(),
      ], changes: 3)
  }

  @Test func `changes that are postponed come in their turn`() {
    check([TrailManner()], changes: 4)
  }

  @Test(arguments: [TrailManner.Overflow.dropsOldest, .dropsNewest])
  func `a mailbox with a capacity leaves out what is due`(overflow: TrailManner.Overflow) {
    var machine = TrailMachine<Int>()
    let name = UnsafeRawPointer(bitPattern: 1)!
    let manner = manner {
      $0.hasMailbox = true
      $0.isPulled = true
      $0.capacity = 2
      $0.overflow = overflow
    }
    let id = machine.add(name, manner)!
    for number in 1...5 {
      machine.number += 1
      let entry = machine.begin(TrailEntry(number: machine.number, old: number - 1, new: number))!
      while machine.next(for: entry).action != .over {}
      #expect(machine.nextEntry() == nil)
    }
    var pulled: [Int] = []
    while case .entry(let entry) = machine.pull(id) { pulled.append(entry.new) }
    #expect(pulled == (overflow == .dropsOldest ? [4, 5] : [1, 2]))
  }

  @Test func `one who pulls gets what is left when the trail is closed, and then the end`() {
    var machine = TrailMachine<Int>()
    let manner = manner {
      $0.hasMailbox = true
      $0.isPulled = true
    }
    let id = machine.add(UnsafeRawPointer(bitPattern: 1)!, manner)!
    machine.number = 1
    let entry = machine.begin(TrailEntry(number: 1, old: 0, new: 1))!
    machine.close()
    #expect(machine.pulledToEnd.isEmpty)
    guard case .nothing = machine.pull(id) else {
      Issue.record("the end comes before what is being delivered")
      return
    }
    #expect(machine.next(for: entry).action == .post)
    #expect(machine.next(for: entry).action == .over)
    #expect(machine.nextEntry() == nil)
    #expect(machine.pulledToEnd == [id])
    guard case .entry(let got) = machine.pull(id), got.new == 1, case .end = machine.pull(id)
    else {
      Issue.record("what was left is lost")
      return
    }
    #expect(machine.add(UnsafeRawPointer(bitPattern: 2)!, manner) == nil)
  }
}
