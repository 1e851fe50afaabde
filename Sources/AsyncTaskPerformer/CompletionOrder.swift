import Inturn

/// Calls the completions of successful lists in the order of the lists, when their operations run
/// in that order. A list begins when the operations of the previous one have ended, and may be done
/// before the thread that ended the last of those gets to complete its list.
final class CompletionOrder: @unchecked Sendable {
  // Safe to share: `lock` protects the rest.

  private let lock = BriefLock()
  /// The first list that has not completed, by number, and later ones that have.
  @exclusivity(unchecked) private var first = 1
  @exclusivity(unchecked) private var completed: Set<Int> = []
  /// The calls for later lists that have succeeded.
  @exclusivity(unchecked) private var held: [Int: @Sendable () -> Void] = [:]

  /// Calls the completion of a list. If the list has succeeded, that waits until all lists before
  /// it have completed, and happens on the thread that completes the last of them. Each number is
  /// passed once.
  func complete(_ number: Int, isSuccess: Bool, _ call: @escaping @Sendable () -> Void) {
    let isHeld = lock.withLock {
      if !isSuccess || number == first { return false }
      held[number] = call
      return true
    }
    if isHeld { return }
    var (number, call) = (number, call)
    while true {
      call()
      // The previous call is over before another thread can take the next one.
      let next = lock.withLock { () -> (@Sendable () -> Void)? in
        completed.insert(number)
        while completed.remove(first) != nil { first += 1 }
        number = first
        return held.removeValue(forKey: first)
      }
      guard let next else { return }
      call = next
    }
  }
}
