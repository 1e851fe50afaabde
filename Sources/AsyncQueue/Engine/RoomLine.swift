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
    fileprivate var number = -1
    fileprivate var isCancelled = false

    init(_ turn: Turn, _ options: OperationOptions?) {
      self.turn = turn
      self.options = options
    }
  }

  /// By their numbers, in the order in which they came.
  private var waiters: [Int: Waiter] = [:]
  private var count = 0
  /// No waiter has a smaller number.
  private var first = 0
  /// Whether a thread is enqueuing turns, one after the other; only one does at a time.
  private var isMoving = false
  /// Whether there may be more room than that thread knows of.
  private var mayHaveMoved = false

  var isEmpty: Bool { waiters.isEmpty }

  /// Adds a waiter. False when it was cancelled before.
  mutating func add(_ waiter: Waiter, _ continuation: UnsafeContinuation<Status?, Never>) -> Bool {
    if waiter.isCancelled { return false }
    (waiter.continuation, waiter.number) = (continuation, count)
    waiters[count] = waiter
    count += 1
    return true
  }

  /// Cancels a wait. Returns its continuation; nil when it does not wait, or its turn is just being
  /// enqueued. The caller keeps the waiter, so nothing is released here.
  mutating func cancel(_ waiter: Waiter) -> UnsafeContinuation<Status?, Never>? {
    waiter.isCancelled = true
    if isMoving && waiter.number == first { return nil }
    return waiters.removeValue(forKey: waiter.number)?.continuation
  }

  /// Whether the caller has to enqueue turns now, until `next` returns nil.
  mutating func begin() -> Bool {
    mayHaveMoved = true
    if isMoving { return false }
    isMoving = true
    return true
  }

  /// The first turn.
  mutating func next() -> Waiter? {
    mayHaveMoved = false
    while !isEmpty {
      if let waiter = waiters[first] { return waiter }
      first += 1
    }
    isMoving = false
    return nil
  }

  /// Notes the result for that turn. Returns its continuation; nil when it goes on waiting.
  mutating func settle(
    _ status: Status, of waiter: Waiter
  ) -> UnsafeContinuation<Status?, Never>? {
    if status == .full && !waiter.isCancelled && !waiter.turn.isOwnerFull { return nil }
    return waiters.removeValue(forKey: waiter.number)?.continuation
  }

  /// Whether the room is used up, as far as is known; the caller is then done.
  mutating func end() -> Bool {
    if mayHaveMoved { return false }
    isMoving = false
    return true
  }
}
