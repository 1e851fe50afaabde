import Inturn

/// Turns that wait for room in their queue, in order. Its user's lock protects it.
///
/// A turn is put into the queue in its waiter's stead, by whoever has made the room: so no room is
/// promised to somebody who may not come for it, and nobody comes in between.
struct RoomLine {
  /// One that waits; it is resumed once, with what became of its turn: nil when it was cancelled.
  final class Waiter: @unchecked Sendable {
    // Safe to share: `turn` and `options` never change, the list's lock protects the rest.
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
  /// Whether somebody puts turns into the queue, one after the other; one does at a time.
  private var isMoving = false
  /// Whether there may be more room than that one knows.
  private var mayHaveMoved = false

  var isEmpty: Bool { first == waiters.count }

  /// Adds one. False when it was cancelled before.
  mutating func add(_ waiter: Waiter, _ continuation: UnsafeContinuation<Status?, Never>) -> Bool {
    if waiter.isCancelled { return false }
    waiter.continuation = continuation
    waiters.append(waiter)
    return true
  }

  /// Gives up one's wait. What resumes it; nil when it does not wait, or its turn is on its way in.
  mutating func cancel(_ waiter: Waiter) -> UnsafeContinuation<Status?, Never>? {
    waiter.isCancelled = true
    if isMoving && !isEmpty && waiters[first] === waiter { return nil }
    defer { waiter.continuation = nil }
    return waiter.continuation
  }

  /// Whether the caller is to put turns into the queue now; if so, until `next` gives nil.
  mutating func begin() -> Bool {
    mayHaveMoved = true
    if isMoving { return false }
    isMoving = true
    return true
  }

  /// The first one that still waits.
  mutating func next() -> Waiter? {
    mayHaveMoved = false
    while !isEmpty {
      if waiters[first].continuation != nil { return waiters[first] }
      dropFirst()
    }
    isMoving = false
    return nil
  }

  /// What became of that one's turn. What resumes it; nil when it waits on.
  mutating func settle(_ status: Status) -> UnsafeContinuation<Status?, Never>? {
    let waiter = waiters[first]
    if status == .full && !waiter.isCancelled { return nil }
    dropFirst()
    defer { waiter.continuation = nil }
    return waiter.continuation
  }

  /// Whether the room is used up, as far as anybody knows: then the caller is done.
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
