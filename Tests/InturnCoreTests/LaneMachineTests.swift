import Testing

@testable import InturnCore

/// The lane's machine in every state that few operations can bring it to.
///
/// A small world stands for what is around the machine: the jobs in the buffer, the ends to be
/// delivered, and how many drainers are at each step. Each event that is possible in a state leads
/// to another one; all of them are visited, and what must hold is checked in each.
@Suite struct LaneMachineTests {
  struct World: Hashable {
    var machine: LaneMachine
    var limit: UInt32
    var jobs = 0
    /// Operations that run without a drainer: their work has returned.
    var suspended = 0
    /// Drainers that are inside a call of work.
    var inCall = 0
    var deliveries = 0
    var suspends = 0
    /// How often something has been started while it must not be.
    var hasErred = false

    init(kind: QueueKind, limit: UInt32) {
      machine = LaneMachine(kind: kind)
      self.limit = limit
    }

    var view: LaneMachine.View { .init(hasJobs: jobs > 0, limit: limit) }

    /// Drainers that are in the lane and about to ask what is next.
    var atTheDoor: Int { Int(machine.active) - inCall }

    mutating func ask() {
      let view = view
      _ = machine.askForDrainer(view)
    }

    mutating func setDeliveries(_ count: Int) {
      deliveries = count
      machine.set(.hasDeliveries, count > 0)
    }
  }

  static let most = 2

  /// Every world that one event makes of this one.
  static func successors(of world: World) -> [World] {
    var all: [World] = []
    func event(_ isPossible: Bool, _ change: (inout World) -> Void) {
      guard isPossible else { return }
      var next = world
      change(&next)
      all.append(next)
    }
    let isOpen = !world.machine.flags.contains(.destroyed)

    event(world.jobs < most && isOpen && !world.machine.flags.contains(.closed)) {
      $0.jobs += 1
      $0.ask()
    }
    event(world.machine.scheduled > 0) { $0.machine.drainerArrives() }
    if world.atTheDoor > 0 {
      switch world.machine.next(world.view) {
      case .deliver: event(true) { $0.setDeliveries($0.deliveries - 1) }
      case .start:
        event(true) {
          $0.jobs -= 1
          $0.machine.start()
          let view = $0.view
          _ = $0.machine.askForDrainerBeforeCall(view)
          $0.inCall += 1
          let stopped = $0.suspends > 0 || $0.machine.flags.contains(.held)
          if stopped || $0.machine.running > $0.limit { $0.hasErred = true }
        }
        event(true) { $0.machine.drainerGoesBack() }
      case .leave:
        event(true) {
          $0.machine.drainerLeaves()
          $0.ask()
        }
      }
    }
    // The work returns with its operation ended, or unfinished.
    event(world.inCall > 0) {
      $0.inCall -= 1
      $0.machine.release()
      if $0.deliveries < most { $0.setDeliveries($0.deliveries + 1) }
    }
    event(world.inCall > 0 && world.suspended < most) {
      $0.inCall -= 1
      $0.suspended += 1
    }
    // A token is finished from elsewhere.
    event(world.suspended > 0) {
      $0.suspended -= 1
      $0.machine.release()
      if $0.deliveries < most { $0.setDeliveries($0.deliveries + 1) }
      $0.ask()
    }
    // A deadline cuts an operation off in the middle of its call: that drainer is none any more.
    event(world.inCall > 0 && isOpen) {
      $0.inCall -= 1
      $0.machine.drainerLeaves()
      $0.machine.release()
      $0.ask()
    }
    // A pending operation is cancelled.
    event(world.jobs > 0 && world.deliveries < most && isOpen) {
      $0.jobs -= 1
      $0.setDeliveries($0.deliveries + 1)
      $0.ask()
    }
    event(world.suspends < most && isOpen) {
      $0.suspends += 1
      $0.machine.flags.insert(.suspended)
    }
    event(world.suspends > 0 && isOpen) {
      $0.suspends -= 1
      $0.machine.set(.suspended, $0.suspends > 0)
      $0.ask()
    }
    event(isOpen) { $0.machine.flags.insert(.held) }
    event(isOpen) {
      $0.machine.flags.remove(.held)
      $0.ask()
    }
    event(isOpen) { $0.machine.flags.insert(.closed) }
    event(isOpen) {
      $0.machine.flags.formUnion([.destroyed, .closed])
      $0.jobs = 0
    }
    return all
  }

  static func reachable(from start: World) -> Set<World> {
    var seen: Set<World> = [start]
    var open = [start]
    while let world = open.popLast() {
      for next in successors(of: world) where seen.insert(next).inserted { open.append(next) }
    }
    return seen
  }

  @Test(arguments: [
    (QueueKind.fifo, UInt32(1)), (.interaction, 1), (.actor, .max), (.concurrent, 1),
    (.concurrent, 2),
  ])
  func `in every reachable state the machine upholds its promises`(
    kind: QueueKind, limit: UInt32
  ) {
    let worlds = Self.reachable(from: World(kind: kind, limit: limit))
    #expect(worlds.count > 500)
    for world in worlds {
      let machine = world.machine
      #expect(!world.hasErred, "started what must not start: \(world)")
      #expect(machine.running <= limit)
      #expect(Int(machine.running) == world.suspended + world.inCall)
      let drainers = UInt32(machine.active) + UInt32(machine.scheduled)
      #expect(drainers <= machine.maximumDrainers(world.view))
      if kind != .concurrent { #expect(drainers <= 1) }
      // No work is forgotten: somebody who will look at it is there, or on the way.
      let isSomethingToDo = machine.next(world.view) != .leave
      let isSomebodyComing = machine.scheduled > 0 || machine.active > 0
      #expect(!isSomethingToDo || isSomebodyComing, "nobody comes: \(world)")
      // Where several may run, a drainer that is inside a call keeps none from starting.
      if kind == .concurrent && machine.canStart(world.view) {
        #expect(machine.scheduled > 0 || world.atTheDoor > 0, "nobody is free: \(world)")
      }
      if machine.flags.contains(.destroyed) { #expect(machine.next(world.view) == .leave) }
    }
  }

  @Test func `a concurrent lane delivers ends while all its places are in calls`() {
    var world = World(kind: .concurrent, limit: 1)
    world.jobs = 1
    world.ask()
    world.machine.drainerArrives()
    #expect(world.machine.next(world.view) == .start)
    world.jobs = 0
    world.machine.start()
    world.setDeliveries(1)
    let view = world.view
    let isAsked = world.machine.askForDrainer(view)
    #expect(isAsked)
  }
}
