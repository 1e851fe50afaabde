import InturnCore

/// Waits until nothing of a queue is left.
///
/// A queue may be quiet for only a moment, and a wait may begin just afterwards. So waits are
/// numbered, and when the queue is seen to be quiet, only waits that began before that end.
package final class QuietWaits: @unchecked Sendable {
  // Safe to share: `lock` protects the rest.

  /// Protects everything below.
  private let lock = BriefLock()
  @exclusivity(unchecked) private var waits: [ObjectIdentifier: (number: Int, wait: DrainWait)] =
    [:]
  @exclusivity(unchecked) private var count = 0
  /// Whether the engine will call when the lane is quiet. It is asked once, however many are
  /// waiting or have given up. From then on it knows that somebody waits, so its reports come
  /// sooner.
  @exclusivity(unchecked) private var isListening = false

  package init() {}

  /// Waits; returns whether the queue is quiet, rather than timed out or the task cancelled. The
  /// queue is quiet once its lane was and `isRestOver`, called later, returns true; whoever knows
  /// about the rest then calls `end`. `begun` is called when the wait counts.
  package func wait(
    for lane: Handle, within timeout: Duration?, of clock: ManualClock?,
    isRestOver: @escaping @Sendable () -> Bool = { true }, begun: () -> Void = {}
  ) async -> Bool {
    let wait = DrainWait()
    let isQuiet = await wait.end(within: timeout, of: clock) { wait in
      lock.withLock {
        count += 1
        waits[ObjectIdentifier(wait)] = (count, wait)
      }
      listen(to: lane, isRestOver)
      begun()
    }
    _ = lock.withLock { waits.removeValue(forKey: ObjectIdentifier(wait)) }
    return isQuiet
  }

  private func listen(to lane: Handle, _ isRestOver: @escaping @Sendable () -> Bool) {
    let last = lock.withLock { () -> Int? in
      if isListening || waits.isEmpty { return nil }
      isListening = true
      return count
    }
    guard let last else { return }
    let isQuiet: @Sendable () -> Void = { [self] in
      let mayBeMore = lock.withLock {
        isListening = false
        return count > last
      }
      if isRestOver() { end(upTo: last) }
      if mayBeMore { listen(to: lane, isRestOver) }
    }
    // A lane that is gone is quiet, and calls nobody any more.
    if Engine.whenQuiet(lane, isQuiet) != .ok { isQuiet() }
  }

  /// Ends the waits that have begun, if the queue is quiet. `isLast` is called, under the lock,
  /// when no wait is left.
  package func end(if isQuiet: () -> Bool, isLast: () -> Void) {
    let last = lock.withLock { count }
    if isQuiet() { end(upTo: last, isLast: isLast) }
  }

  private func end(upTo last: Int, isLast: () -> Void = {}) {
    let ended = lock.withLock {
      let ended = waits.filter { $0.value.number <= last }
      for key in ended.keys { waits.removeValue(forKey: key) }
      if waits.isEmpty { isLast() }
      return ended
    }
    for (_, wait) in ended.values.sorted(by: { $0.number < $1.number }) { wait.end(isQuiet: true) }
  }
}
