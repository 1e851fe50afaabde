/// Finds which of a number of waits can never end, as a value.
///
/// A wait is kept from ending by *hindrances*, each of which is enough. A hindrance is that a number of
/// places are taken; it is permanent if that many are taken by waits that can never end themselves. So
/// the stuck waits are the largest set in which each member has a hindrance that the set alone upholds.
/// At first, all waits are assumed to be stuck; then each wait that no hindrance keeps is freed, which
/// may lift hindrances of others. Each place is looked at once.
struct StuckWaits {
  /// A wait that takes places.
  struct Holder: Equatable {
    let wait: Int
    var places: UInt64
  }

  private struct Hindrance {
    /// How many places have to be taken.
    let places: UInt64
    /// How many places are taken by waits that are not free.
    var held: UInt64
    var waits: [Int] = []
  }

  private var hindrances: [Hindrance] = []
  /// For each wait, how many places of which hindrances it holds.
  private var holdings: [[(hindrance: Int, places: UInt64)]] = []
  /// For each wait, how many hindrances keep it.
  private var kept: [Int] = []

  /// Adds a wait, the number of which is how many there were.
  mutating func addWait() {
    holdings.append([])
    kept.append(0)
  }

  /// Adds a hindrance and returns its number, or nil if too few places are held for it ever to apply.
  mutating func add(places: UInt64, holders: [Holder]) -> Int? {
    let held = holders.reduce(0) { $0 + $1.places }
    if held < places { return nil }
    for holder in holders {
      holdings[holder.wait].append((hindrances.count, holder.places))
    }
    hindrances.append(Hindrance(places: places, held: held))
    return hindrances.count - 1
  }

  /// Records that a hindrance keeps a wait; called once for each pair.
  mutating func keep(_ wait: Int, by hindrance: Int) {
    hindrances[hindrance].waits.append(wait)
    kept[wait] += 1
  }

  /// For each wait, whether it is stuck.
  func solve() -> [Bool] {
    var (hindrances, kept) = (hindrances, kept)
    var isStuck = Array(repeating: true, count: kept.count)
    var free = kept.indices.filter { kept[$0] == 0 }
    while let wait = free.popLast() {
      isStuck[wait] = false
      for (hindrance, places) in holdings[wait] {
        let heldBefore = hindrances[hindrance].held
        hindrances[hindrance].held -= places
        let needed = hindrances[hindrance].places
        if heldBefore < needed || heldBefore - places >= needed { continue }
        for other in hindrances[hindrance].waits {
          kept[other] -= 1
          if kept[other] == 0 { free.append(other) }
        }
      }
    }
    return isStuck
  }
}
