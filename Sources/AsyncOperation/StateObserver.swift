import Inturn

/// An observer of an operation's states: it is told each one once, in order, one call at a time.
///
/// Any thread may offer states. One of them calls the handler; states offered meanwhile wait for
/// it.
final class StateObserver: @unchecked Sendable {
  // Safe to share: `lock` protects the rest.

  typealias Handler = @Sendable (OperationState) -> Void

  /// Protects everything below. Not held while the handler is called or released.
  private let lock = BriefLock()
  @exclusivity(unchecked) private var handler: Handler?
  /// States that wait to be told, the next one last: at most two.
  @exclusivity(unchecked) private var waiting: [OperationState] = []
  /// The position of the latest state that was offered.
  @exclusivity(unchecked) private var reached = -1
  @exclusivity(unchecked) private var isCalling = false

  init(_ handler: @escaping Handler) { self.handler = handler }

  /// Tells the state, unless this or a later one has been offered before.
  func offer(_ state: OperationState) {
    let isCaller = lock.withLock {
      if handler == nil || state.position <= reached { return false }
      reached = state.position
      waiting.insert(state, at: 0)
      if isCalling { return false }
      isCalling = true
      return true
    }
    if isCaller { call() }
  }

  private func call() {
    while true {
      let (told, state) = lock.withLock { () -> (Handler?, OperationState?) in
        let state = waiting.popLast()
        if state == nil { isCalling = false }
        return (handler, state)
      }
      guard let state else { return }
      told?(state)
    }
  }

  /// No call begins after this; one may be under way.
  func stop() {
    var old: Handler?
    lock.withLock { swap(&old, &handler) }
    withExtendedLifetime(old) {}
  }
}

extension OperationState {
  /// States never go back.
  fileprivate var position: Int {
    switch self {
    case .pending: 0
    case .running: 1
    case .ended: 2
    }
  }
}
