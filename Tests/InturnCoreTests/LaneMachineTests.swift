import Testing

@testable import InturnCore

/// The lane's machine in every state that a few operations can lead to.
///
/// A small world stands for what surrounds the machine: the jobs in the buffer, the ends to deliver,
/// and how many drainers are at each step. Each event that is possible in a state leads to another
/// state; all of them are visited, and the invariants are checked in each.
@Suite struct LaneMachineTests {
  struct LaneWorld: World {
    var machine: LaneMachine
    var limit: UInt32
    var jobs = 0
    /// Operations that run without a drainer, as their work has returned.
    var suspended = 0
    /// Drainers that are inside a call of work.
    var inCall = 0
    var deliveries = 0
    var suspends = 0
    /// Something was started that must not be.
    var hasErred = false

    init(kind: QueueKind, limit: UInt32, hasLongCalls: Bool = false) {
      machine = LaneMachine(LaneTraits(kind).union(hasLongCalls ? .longCalls : []))
      self.limit = limit
    }

    var hasLongCalls: Bool { machine.traits.contains(.longCalls) }

    var view: LaneMachine.View { .init(hasJobs: jobs > 0, limit: limit) }

    /// Drainers that are in the lane and about to ask what is next.
    var atTheDoor: Int { Int(machine.active) - (hasLongCalls ? 0 : inCall) }

    mutating func ask() {
      let view = view
      _ = machine.askForDrainer(view)
    }

    mutating func setDeliveries(_ count: Int) {
      deliveries = count
      machine.set(.hasDeliveries, count > 0)
    }

    static var most: Int { 2 }

    func explore(_ events: inout Events<Self>) {
      let isOpen = !machine.flags.contains(.destroyed)

      events.event(jobs < Self.most && isOpen && !machine.flags.contains(.closed)) {
        $0.jobs += 1
        $0.ask()
      }
      events.event(machine.scheduled > 0) { $0.machine.drainerArrives() }
      if atTheDoor > 0 {
        switch machine.nextOfDrainer(view) {
        case .deliver: events.event { $0.setDeliveries($0.deliveries - 1) }
        case .start:
          events.event {
            $0.jobs -= 1
            $0.machine.start()
            if $0.hasLongCalls { $0.machine.drainerCalls() }
            let view = $0.view
            if $0.machine.traits.contains(.overlapping) { _ = $0.machine.askForDrainer(view) }
            $0.inCall += 1
            let stopped =
              $0.suspends > 0 || !$0.machine.flags.isDisjoint(with: [.held, .headBlocked])
            if stopped || $0.machine.running > $0.limit { $0.hasErred = true }
          }
          events.event { $0.machine.drainerGoesBack() }
          // What a host drains may have to be claimed.
          events.event(!machine.traits.contains(.overlapping)) {
            if $0.machine.flags.contains(.offered) { $0.hasErred = true }
            $0.machine.flags.insert(.offered)
            $0.machine.drainerLeaves()
            $0.ask()
          }
        case .leave:
          events.event {
            $0.machine.drainerLeaves()
            $0.ask()
          }
        }
      }
      // It is claimed, or the offer is withdrawn.
      events.event(machine.flags.contains(.offered) && isOpen && suspended < Self.most) {
        $0.machine.flags.remove(.offered)
        if $0.machine.active == 0 && $0.machine.canStart($0.view) {
          $0.jobs -= 1
          $0.machine.start()
          $0.suspended += 1
        }
        $0.ask()
      }
      // The work returns with its operation ended, or unfinished.
      events.event(inCall > 0) {
        $0.inCall -= 1
        if $0.hasLongCalls { $0.machine.drainerReturns() }
        $0.machine.release()
        if $0.deliveries < Self.most { $0.setDeliveries($0.deliveries + 1) }
      }
      events.event(inCall > 0 && suspended < Self.most) {
        $0.inCall -= 1
        if $0.hasLongCalls { $0.machine.drainerReturns() }
        $0.suspended += 1
      }
      // A token is finished elsewhere.
      events.event(suspended > 0) {
        $0.suspended -= 1
        $0.machine.release()
        if $0.deliveries < Self.most { $0.setDeliveries($0.deliveries + 1) }
        $0.ask()
      }
      // A deadline cuts an operation off during its call: its drainer no longer counts.
      events.event(inCall > 0 && isOpen && !hasLongCalls) {
        $0.inCall -= 1
        $0.machine.drainerLeaves()
        $0.machine.release()
        $0.ask()
      }
      // A pending operation is cancelled.
      events.event(jobs > 0 && deliveries < Self.most && isOpen) {
        $0.jobs -= 1
        $0.machine.flags.remove(.offered)
        $0.setDeliveries($0.deliveries + 1)
        $0.ask()
      }
      events.event(suspends < Self.most && isOpen) {
        $0.suspends += 1
        $0.machine.flags.insert(.suspended)
      }
      events.event(suspends > 0 && isOpen) {
        $0.suspends -= 1
        $0.machine.set(.suspended, $0.suspends > 0)
        $0.ask()
      }
      events.event(isOpen) { $0.machine.flags.insert(.held) }
      events.event(isOpen) {
        $0.machine.flags.remove(.held)
        $0.ask()
      }
      // The drainer finds that the operation whose turn it is has to wait for something.
      events.event(atTheDoor > 0 && isOpen && !machine.traits.contains(.overlapping)) {
        $0.machine.flags.insert(.headBlocked)
      }
      events.event(isOpen && machine.flags.contains(.headBlocked)) {
        $0.machine.flags.remove(.headBlocked)
        $0.ask()
      }
      events.event(isOpen) { $0.machine.flags.insert(.closed) }
      events.event(isOpen) {
        $0.machine.flags.formUnion([.destroyed, .closed])
        $0.jobs = 0
      }
    }
  }

  @Test(arguments: [
    (QueueKind.fifo, UInt32(1), false), (.fifo, 1, true), (.interaction, 1, false),
    (.actor, .max, false), (.concurrent, 1, false), (.concurrent, 2, false),
  ])
  func `in every reachable state the machine upholds its promises`(
    kind: QueueKind, limit: UInt32, hasLongCalls: Bool
  ) {
    let worlds = LaneWorld(kind: kind, limit: limit, hasLongCalls: hasLongCalls).reachable()
    #expect(worlds.count > 500)
    for world in worlds {
      let machine = world.machine
      #expect(!world.hasErred, "started what must not start: \(world)")
      #expect(machine.running <= limit)
      #expect(Int(machine.running) == world.suspended + world.inCall)
      let drainers = UInt32(machine.active) + UInt32(machine.scheduled)
      // One may come while another one is in a long call.
      #expect(drainers <= machine.maximumDrainers(world.view) + (hasLongCalls ? 1 : 0))
      if kind != .concurrent && !hasLongCalls { #expect(drainers <= 1) }
      // Who is in a call that waits for an end is not the one to deliver it.
      if hasLongCalls && machine.next(world.view) == .deliver {
        #expect(machine.scheduled > 0 || world.atTheDoor > 0, "nobody delivers: \(world)")
      }
      // No work is forgotten: a drainer that will look at it is there, or on the way.
      let isSomethingToDo = machine.next(world.view) != .leave
      let isSomebodyComing = machine.scheduled > 0 || machine.active > 0
      #expect(!isSomethingToDo || isSomebodyComing, "nobody comes: \(world)")
      // If several may run, a drainer inside a call keeps none from starting.
      if kind == .concurrent && machine.canStart(world.view) {
        #expect(machine.scheduled > 0 || world.atTheDoor > 0, "nobody is free: \(world)")
      }
      if machine.flags.contains(.destroyed) { #expect(machine.next(world.view) == .leave) }
    }
  }

  @Test func `a concurrent lane delivers ends while all its places are in calls`() {
    var world = LaneWorld(kind: .concurrent, limit: 1)
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
