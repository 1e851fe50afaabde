/// A small world in which events happen one after another, in any possible order.
protocol World: Hashable {
  /// Calls `events` with each event that is possible now.
  func explore(_ events: inout Events<Self>)
}

/// Collects the worlds that one event can make from another.
struct Events<Subject: World> {
  private let before: Subject
  fileprivate var after: [Subject] = []

  fileprivate init(of world: Subject) { before = world }

  /// An event, if it is possible, and what it changes.
  mutating func event(_ isPossible: Bool = true, _ change: (inout Subject) -> Void) {
    guard isPossible else { return }
    var next = before
    change(&next)
    after.append(next)
  }
}

extension World {
  /// Every world that any number of events can make from this one, including itself.
  func reachable() -> Set<Self> {
    var seen: Set<Self> = [self]
    var open = [self]
    while let world = open.popLast() {
      var events = Events(of: world)
      world.explore(&events)
      for next in events.after where seen.insert(next).inserted { open.append(next) }
    }
    return seen
  }
}
