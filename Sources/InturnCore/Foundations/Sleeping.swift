import CInturnSystem
import Synchronization

/// A word that threads sleep on until it changes.
typealias WakeWord = UnsafeMutablePointer<Atomic<UInt32>>

extension WakeWord {
  /// One with memory of its own, to be deallocated.
  static func make() -> Self {
    let word = allocate(capacity: 1)
    word.initialize(to: Atomic(0))
    return word
  }

  private var word: UnsafePointer<UInt32> {
    UnsafeRawPointer(self).assumingMemoryBound(to: UInt32.self)
  }

  /// Sleeps while the word has this value; may wake for no reason. Below zero: no limit.
  func wait(while value: UInt32, timeoutNanoseconds: Int64 = -1) {
    inturn_system_wait(word, value, timeoutNanoseconds)
  }

  /// Changes the word and wakes all. Releasing: who sees the change sees what was done before.
  func advance() {
    pointee.wrappingAdd(1, ordering: .releasing)
    wakeAll()
  }

  func wakeOne() { inturn_system_wake_one(word) }

  func wakeAll() { inturn_system_wake_all(word) }
}

/// How long a caller is ready to wait, in the system's time.
struct WaitLimit {
  private let deadline: Int64?

  /// Below zero: no limit.
  init(timeoutNanoseconds: Int64) {
    if timeoutNanoseconds < 0 {
      deadline = nil
    } else {
      let (sum, overflow) = inturn_system_now().addingReportingOverflow(timeoutNanoseconds)
      deadline = overflow ? nil : sum
    }
  }

  /// What is left in nanoseconds, below zero for no limit; nil when the time is over, or when the
  /// process exits and nothing more will happen.
  var remaining: Int64? {
    if ProcessState.isExiting { return nil }
    guard let deadline else { return -1 }
    let rest = deadline - inturn_system_now()
    return rest > 0 ? rest : nil
  }
}
