internal import InturnCore

/// The turns whose tasks are cancelled together.
@usableFromInline
final class TaskRegistry: @unchecked Sendable {
  // Safe to share: `lock` protects `turns`. Nothing is called while it is held.

  private let lock = BriefLock()
  @exclusivity(unchecked) private var turns: [ObjectIdentifier: Turn] = [:]

  func add(_ turn: Turn) {
    lock.lock()
    turns[ObjectIdentifier(turn)] = turn
    lock.unlock()
  }

  func remove(_ turn: Turn) {
    lock.lock()
    let removed = turns.removeValue(forKey: ObjectIdentifier(turn))
    lock.unlockAfterReadingObject()
    withExtendedLifetime(removed) {}
  }

  /// Cancels the tasks of all turns, also of those that are just being created.
  func cancelAll() {
    lock.lock()
    let turns = self.turns.values.map(\.self)
    lock.unlockAfterReadingObject()
    for turn in turns { turn.askToEnd() }
  }

  var count: Int { lock.withLock { turns.count } }
}
