/// When a batch is over early, and how it ends; see `inturn_batch_policy`.
package enum BatchPolicy: UInt8, CaseIterable {
  case all = 0
  case firstError, collect, enough
}

/// The outcome of a batch, computed from its operations' ends, as a value. Ends are added in any
/// order, each once.
package struct BatchDecision: Hashable {
  let policy: BatchPolicy
  let count: Int
  /// `.enough`: how many have to finish.
  let enough: Int
  package private(set) var ended = 0
  private(set) var finished = 0
  /// Somebody has cancelled the batch.
  package var isCancelled = false
  /// The operation whose end is the batch's; nil for none.
  package private(set) var decidedBy: Int?
  private(set) var outcome = Outcome.finished
  /// The rest has been, or is being, cancelled.
  private(set) var isStopped = false

  package init(policy: BatchPolicy, count: Int, enough: Int) {
    self.policy = policy
    self.count = count
    self.enough = enough
  }

  package var isOver: Bool { ended == count }

  /// Counts an end. When true, the caller cancels the operations that have not ended.
  package mutating func add(_ outcome: Outcome, of index: Int) -> Bool {
    ended += 1
    if outcome == .finished { finished += 1 }
    switch policy {
    case .all: note(outcome, of: index, isBetter: decidedBy.map { index < $0 } ?? true)
    case .firstError: note(outcome, of: index, isBetter: decidedBy == nil)
    case .collect:
      let isWhatWasAsked = isCancelled && outcome == .cancelled
      note(outcome, of: index, isBetter: isWhatWasAsked && decidedBy == nil)
    case .enough:
      note(outcome, of: index, isBetter: decidedBy.map { index < $0 } ?? true)
      // An operation that was cancelled because it is no longer needed decides nothing.
      if finished >= enough {
        decidedBy = nil
        self.outcome = .finished
      }
    }
    return stops
  }

  /// Counts an operation that has finished, unless it is the last one or more follows from it.
  mutating func addFinished() -> Bool {
    if ended + 1 == count || policy == .enough { return false }
    ended += 1
    finished += 1
    return true
  }

  private mutating func note(_ outcome: Outcome, of index: Int, isBetter: Bool) {
    if outcome == .finished || !isBetter { return }
    decidedBy = index
    self.outcome = outcome
  }

  private var stops: Bool {
    mutating get {
      if isStopped || isOver { return false }
      switch policy {
      case .all, .collect: return false
      case .firstError: isStopped = decidedBy != nil
      case .enough: isStopped = finished >= enough
      }
      return isStopped
    }
  }
}
