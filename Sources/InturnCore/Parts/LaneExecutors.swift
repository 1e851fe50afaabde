/// Where a lane's drainers come from: its executor, and those that it had before.
struct LaneExecutors {
  /// Retained. Nil: the library's pool.
  private(set) var current: Unmanaged<Executor>?
  /// Retained. They live as long as the lane, so that who has read one under the lock may submit to
  /// it after.
  private var former: [Unmanaged<Executor>] = []
  /// Drainers that still wait at those; none of these have none.
  private var away: [(executor: UnsafeRawPointer, count: UInt16)] = []

  init(_ executor: Executor? = nil) { current = executor.map { Unmanaged.passRetained($0) } }

  /// How many drainers wait elsewhere than at the current one.
  var awayCount: UInt16 { away.reduce(0) { $0 + $1.count } }

  /// Has another executor from now on, of which the caller has counted a use. False when there is a
  /// use of it already. `scheduled`: how many drainers wait anywhere; `pool`: the library's.
  mutating func change(to executor: Executor, scheduled: UInt16, pool: Executor) -> Bool {
    let new = Unmanaged.passUnretained(executor)
    if current?.toOpaque() == new.toOpaque() { return false }
    let here = scheduled - awayCount
    if here > 0 {
      let old = current ?? Unmanaged.passUnretained(pool)
      away.append((UnsafeRawPointer(old.toOpaque()), here))
    }
    away.removeAll { $0.executor == new.toOpaque() }
    let place = former.firstIndex { $0.toOpaque() == new.toOpaque() }
    if let place { former.remove(at: place) }
    if let current { former.append(current) }
    current = place == nil ? new.retain() : new
    return place == nil
  }

  /// One that has waited at this executor arrives.
  mutating func drainerArrives(from executor: UnsafeRawPointer?) {
    guard let place = away.firstIndex(where: { $0.executor == executor }) else { return }
    away[place].count -= 1
    if away[place].count == 0 { away.remove(at: place) }
  }

  /// All of which a use is counted.
  var all: [Unmanaged<Executor>] { (current.map { [$0] } ?? []) + former }
}
