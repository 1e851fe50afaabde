import Inturn

/// Turns that wait for room in their queue, in order. The user's lock protects it.
///
/// Whoever has made room enqueues the waiting turn in its owner's stead. So no room is reserved for
/// somebody who may not come for it, and nobody gets in between.
struct RoomLine {
  /// A waiting turn. It is resumed once, with the turn's status; nil when it was cancelled.
  final class Waiter: @unchecked Sendable {
    // Safe to share: `turn` and `options` never change; the line's lock protects the rest.
    let turn: Turn
    let options: OperationOptions?
    fileprivate var continuation: UnsafeContinuation<Status?, Never>?
    fileprivate var isCancelled = false

    init(_ turn: Turn, _ options: OperationOptions?) {
      self.turn = turn
      self.options = options
    }
  }

  private var waiters: [Waiter] = []
  private var first = 0
  /// How many of those from `first` on have been cancelled, and no longer wait.
  private var gone = 0
  /// Whether a thread is enqueuing turns, one after the other; only one does at a time.
  private var isMoving = false
  /// Whether there may be more room than that thread knows of.
  private var mayHaveMoved = false

  var isEmpty: Bool { first == waiters.count }

  /// Adds a waiter. False when it was cancelled before.
  mutating func add(_ waiter: Waiter, _ continuation: UnsafeContinuation<Status?, Never>) -> Bool {
    if waiter.isCancelled { return false }
    waiter.continuation = continuation
    waiters.append(waiter)
    return true
  }

  /// Cancels a wait. Returns its continuation; nil when it does not wait, or its turn is just being
  /// enqueued. The caller releases `gone` without the lock.
  mutating func cancel(
    _ waiter: Waiter
  ) -> (continuation: UnsafeContinuation<Status?, Never>?, gone: [Waiter]) {
    waiter.isCancelled = true
    if isMoving && !isEmpty && waiters[first] === waiter { return (nil, []) }
    guard let continuation = waiter.continuation else { return (nil, []) }
    waiter.continuation = nil
    gone += 1
    return (continuation, removeGone())
  }

  /// Removes those that no longer wait, if they are more than the others. Returns all that there
  /// were. One whose turn is just being enqueued stays first.
  private mutating func removeGone() -> [Waiter] {
    if gone * 2 <= waiters.count - first { return [] }
    let all = waiters
    waiters = all[first...].filter { $0.continuation != nil }
    (first, gone) = (0, 0)
    return all
  }

  /// Whether the caller has to enqueue turns now, until `next` returns nil.
  mutating func begin() -> Bool {
    mayHaveMoved = true
    if isMoving { return false }
    isMoving = true
    return true
  }

  /// The first turn that still waits.
  mutating func next() -> Waiter? {
    mayHaveMoved = false
    while !isEmpty {
      if waiters[first].continuation != nil { return waiters[first] }
      gone -= 1
      dropFirst()
    }
    isMoving = false
    return nil
  }

  /// Notes the result for that turn. Returns its continuation; nil when it goes on waiting.
  mutating func settle(_ status: Status) -> UnsafeContinuation<Status?, Never>? {
    let waiter = waiters[first]
    if status == .full && !waiter.isCancelled { return nil }
    dropFirst()
    defer { waiter.continuation = nil }
    return waiter.continuation
  }

  /// Whether the room is used up, as far as is known; the caller is then done.
  mutating func end() -> Bool {
    if mayHaveMoved { return false }
    isMoving = false
    return true
  }

  private mutating func dropFirst() {
    first += 1
    if first == waiters.count {
      waiters.removeAll(keepingCapacity: true)
    } else if first < 32 || first * 2 < waiters.count {
      return
    } else {
      waiters.removeFirst(first)
    }
    first = 0
  }
}
