/// Where a lane's drainers come from: its executor, and its former ones.
struct LaneExecutors {
  /// Retained. Nil for the library's pool.
  private(set) var current: Unmanaged<Executor>?
  /// Retained. They live as long as the lane, so that whoever has read one under the lock may
  /// submit to it afterwards.
  private var former: [Unmanaged<Executor>] = []
  /// Drainers that still wait at former executors; one without any has no entry.
  private var away: [(executor: UnsafeRawPointer, count: UInt16)] = []

  init(_ executor: Executor? = nil) { current = executor.map { Unmanaged.passRetained($0) } }

  /// How many drainers wait at other executors than the current one.
  var awayCount: UInt16 { away.reduce(0) { $0 + $1.count } }

  /// The former executor at which all of so many drainers wait; nil if one waits at the current one.
  func former(of scheduled: UInt16) -> UnsafeRawPointer? {
    scheduled > 0 && scheduled == awayCount ? away.first?.executor : nil
  }

  /// Makes another executor the current one; the caller has counted a use of it. False when a use
  /// was counted already. `scheduled` is the number of drainers that wait anywhere, and `pool` the
  /// library's pool.
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

  /// A drainer arrives that has waited at this executor.
  mutating func drainerArrives(from executor: UnsafeRawPointer?) {
    guard let place = away.firstIndex(where: { $0.executor == executor }) else { return }
    away[place].count -= 1
    if away[place].count == 0 { away.remove(at: place) }
  }

  /// All executors that the lane counts as a user of.
  var all: [Unmanaged<Executor>] { (current.map { [$0] } ?? []) + former }
}
