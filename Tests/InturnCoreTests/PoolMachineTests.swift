import Testing

@testable import InturnCore

/// The pool's machine in every state that a few threads and items can lead to.
///
/// A small world stands for what surrounds the machine: the waiting items, how many threads are at each
/// step, and the clock. Each event that is possible in a state leads to another state; all of them are
/// visited, and the invariants are checked in each.
@Suite struct PoolMachineTests {
  struct PoolWorld: World {
    var machine: PoolMachine
    var waiting = 0
    /// Threads that the system was asked for; and those that have begun or were woken, and come.
    var starting = 0
    var arriving = 0
    var inCall = 0
    /// The clock's timer is armed.
    var isArmed = false

    init(target: Int, maximum: Int) {
      machine = PoolMachine(target: target, maximum: maximum, patience: 2)
    }

    static var most: Int { 3 }

    mutating func act(on provision: PoolMachine.Provision) {
      switch provision {
      case .enough: break
      case .wake: arriving += 1
      case .start: starting += 1
      case .watch: isArmed = true
      }
    }

    mutating func submit() {
      waiting += 1
      act(on: machine.provide(for: waiting))
    }

    /// A thread has the lock.
    mutating func goOn(looksAround: Bool, hasIdledLong: Bool = false) {
      if machine.next(waiting, looksAround: looksAround, hasIdledLong: hasIdledLong) == .take {
        waiting -= 1
        inCall += 1
        act(on: machine.provide(for: waiting))
      }
    }

    mutating func start(fails: Bool) {
      starting -= 1
      if fails { act(on: machine.startFails(waiting)) } else { arriving += 1 }
    }

    mutating func arrive(looksAround: Bool) {
      arriving -= 1
      machine.arrives()
      goOn(looksAround: looksAround)
    }

    mutating func stopSpinning() {
      machine.stopsSpinning()
      goOn(looksAround: false)
    }

    mutating func look(hasGoneOn: Bool = false, computing: Int = 0) {
      let provision = machine.look(waiting, hasGoneOn: hasGoneOn, computing: computing)
      isArmed = machine.isWatched
      act(on: provision)
    }

    func explore(_ events: inout Events<Self>) {
      events.event(waiting < Self.most) { $0.submit() }
      for fails in [false, true] { events.event(starting > 0) { $0.start(fails: fails) } }
      for looksAround in [false, true] {
        events.event(arriving > 0) { $0.arrive(looksAround: looksAround) }
        events.event(inCall > 0) {
          $0.inCall -= 1
          $0.goOn(looksAround: looksAround)
        }
        events.event(machine.parked > 0) {
          $0.machine.unparks()
          $0.goOn(looksAround: looksAround, hasIdledLong: !looksAround)
        }
        events.event(isArmed) { $0.look(hasGoneOn: looksAround) }
        events.event(isArmed && inCall > 0) { $0.look(computing: $0.inCall) }
      }
      events.event(machine.isSpinning) { $0.stopSpinning() }
      events.event(!machine.isStopping) {
        $0.arriving += Int($0.machine.parked)
        $0.machine.stop()
      }
    }

    /// What is left if no call returns and the clock advances. Negative if this does not end.
    func leftWhenCallsDoNotReturn(isComputing: Bool) -> Int {
      var world = self
      for _ in 0..<100 {
        if world.starting > 0 {
          world.start(fails: false)
        } else if world.arriving > 0 {
          world.arrive(looksAround: true)
        } else if world.machine.isSpinning {
          world.stopSpinning()
        } else if world.isArmed && world.waiting > 0 {
          world.look(computing: isComputing ? world.inCall : 0)
        } else {
          return world.machine.threads == world.machine.maximum ? 0 : world.waiting
        }
      }
      return -1
    }

    /// The same if no thread can be started, but calls return.
    var leftWithoutThreads: Int {
      var world = self
      for _ in 0..<100 {
        if world.starting > 0 {
          world.start(fails: true)
        } else if world.arriving > 0 {
          world.arrive(looksAround: true)
        } else if world.machine.isSpinning {
          world.stopSpinning()
        } else if world.inCall > 0 {
          world.inCall -= 1
          world.goOn(looksAround: false)
        } else {
          return world.waiting
        }
      }
      return -1
    }
  }

  @Test(arguments: [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3)])
  func `in every reachable state somebody is there for what waits`(target: Int, maximum: Int) {
    let worlds = PoolWorld(target: target, maximum: maximum).reachable()
    #expect(worlds.count > 40)
    for world in worlds {
      let machine = world.machine
      #expect(
        machine.coming == world.starting + world.arriving + (machine.isSpinning ? 1 : 0), "\(world)"
      )
      #expect(Int(machine.threads - machine.coming - machine.parked) == world.inCall, "\(world)")
      #expect(machine.threads <= maximum)
      #expect(machine.isWatched == world.isArmed, "\(world)")
      if world.waiting > 0 {
        let allAreInCalls = world.inCall == maximum
        #expect(
          machine.coming > 0 || world.isArmed || allAreInCalls, "nobody is there: \(world)")
      }
      // No thread sleeps while more items wait than threads come.
      #expect(machine.parked == 0 || world.waiting <= machine.coming, "\(world)")
      // Below the target, no item waits for a thread, unless none could be started.
      if world.waiting > 0 && machine.coming == 0 && !machine.hasFailed {
        #expect(machine.threads >= target, "\(world)")
      }
    }
  }

  @Test(arguments: [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3)])
  func `whatever calls block or threads fail, what waits is taken in the end`(
    target: Int, maximum: Int
  ) {
    for world in PoolWorld(target: target, maximum: maximum).reachable() {
      for isComputing in [false, true] {
        #expect(world.leftWhenCallsDoNotReturn(isComputing: isComputing) == 0, "\(world)")
      }
      // If no thread is left, the clock's timer is there to try again.
      let left = world.leftWithoutThreads
      #expect(left == 0 || world.machine.threads == world.starting, "\(left) of \(world)")
    }
  }

  @Test func `an item that comes while the only thread looks around for another one is watched`() {
    var world = PoolWorld(target: 1, maximum: 2)
    world.submit()
    world.start(fails: false)
    world.arrive(looksAround: true)
    world.inCall -= 1
    world.goOn(looksAround: true)
    #expect(world.machine.isSpinning)
    world.submit()
    world.submit()
    world.stopSpinning()
    #expect(world.inCall == 1 && world.waiting == 1 && world.isArmed)
    world.look()
    #expect(world.starting == 1)
  }

  @Test func `a thread more is started in place of blocked ones, not of those that compute`() {
    var world = PoolWorld(target: 2, maximum: 4)
    world.machine = PoolMachine(target: 2, maximum: 4, patience: 3)
    for _ in 0..<3 { world.submit() }
    for _ in 0..<2 {
      world.start(fails: false)
      world.arrive(looksAround: false)
    }
    world.look()
    #expect(world.starting == 1 && world.isArmed)
    world.start(fails: true)
    for _ in 0..<2 {
      world.look(computing: 2)
      #expect(world.starting == 0 && world.isArmed)
    }
    world.look(computing: 1)
    #expect(world.starting == 1)
    world.start(fails: true)
    for _ in 0..<3 { world.look(computing: 2) }
    #expect(world.starting == 1)
  }

  @Test func `a thread that could not be started is asked for again when the clock looks`() {
    var world = PoolWorld(target: 1, maximum: 1)
    world.submit()
    world.start(fails: true)
    #expect(world.machine.threads == 0 && world.isArmed)
    world.submit()
    #expect(world.starting == 0)
    world.look()
    #expect(world.starting == 1)
  }

  @Test func `it is asked for although others get on`() {
    var world = PoolWorld(target: 2, maximum: 2)
    world.submit()
    world.start(fails: false)
    world.arrive(looksAround: false)
    world.submit()
    world.start(fails: true)
    world.look(hasGoneOn: true)
    #expect(world.starting == 1)
  }

  @Test func `of threads that are idle for long, those above the target end`() {
    var world = PoolWorld(target: 1, maximum: 2)
    world.submit()
    world.start(fails: false)
    world.arrive(looksAround: false)
    world.submit()
    world.look()
    world.start(fails: false)
    world.arrive(looksAround: false)
    for left in [1, 1] {
      world.inCall = 0
      world.goOn(looksAround: false)
      world.machine.unparks()
      world.goOn(looksAround: false, hasIdledLong: true)
      #expect(world.machine.threads == left)
    }
  }

  @Test func `what waits in a pool that stops is taken first`() {
    var world = PoolWorld(target: 1, maximum: 1)
    world.submit()
    world.machine.stop()
    world.start(fails: true)
    world.look()
    world.start(fails: false)
    world.arrive(looksAround: true)
    #expect(world.waiting == 0 && world.inCall == 1)
    world.inCall -= 1
    world.goOn(looksAround: true)
    #expect(world.machine.threads == 0)
  }
}
