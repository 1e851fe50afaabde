import Inturn

/// Has the completions of lists that succeed called in the order of the lists, where the operations
/// run in that order: the next list begins when the operations of one have ended, and may be done
/// before the thread that ended the last of them has come by to complete the list.
final class CompletionOrder: @unchecked Sendable {
  // Safe to share: `lock` protects the rest.

  private let lock = BriefLock()
  /// The first list that has not completed, by number, and later ones that have.
  @exclusivity(unchecked) private var first = 1
  @exclusivity(unchecked) private var completed: Set<Int> = []
  /// The calls of later ones that have succeeded.
  @exclusivity(unchecked) private var held: [Int: @Sendable () -> Void] = [:]

  /// Calls the completion of a list: now, or, if it has succeeded, once all lists before it have
  /// completed, by the thread that completes the last of them. Each number is given once.
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
      // The first one's call is over before the next one is anybody's.
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
