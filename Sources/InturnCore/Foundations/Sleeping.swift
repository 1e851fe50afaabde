import CInturnSystem
import Synchronization

/// A word that threads sleep on until it changes.
typealias WakeWord = UnsafeMutablePointer<Atomic<UInt32>>

extension WakeWord {
  /// A word with its own memory, to be deallocated.
  static func make() -> Self {
    let word = allocate(capacity: 1)
    word.initialize(to: Atomic(0))
    return word
  }

  private var word: UnsafePointer<UInt32> {
    UnsafeRawPointer(self).assumingMemoryBound(to: UInt32.self)
  }

  /// Sleeps while the word has this value; may wake for no reason. A negative time-out means no
  /// limit.
  func wait(while value: UInt32, timeoutNanoseconds: Int64 = -1) {
    inturn_system_wait(word, value, timeoutNanoseconds)
  }

  /// Changes the word and wakes all. Releasing: whoever sees the change sees what was done before
  /// it.
  func advance() {
    pointee.wrappingAdd(1, ordering: .releasing)
    wakeAll()
  }

  func wakeOne() { inturn_system_wake_one(word) }

  func wakeAll() { inturn_system_wake_all(word) }
}

/// How long a caller is willing to wait, in the system's time.
struct WaitLimit {
  private let deadline: Int64?

  /// A negative time-out means no limit.
  init(timeoutNanoseconds: Int64) {
    if timeoutNanoseconds < 0 {
      deadline = nil
    } else {
      let (sum, overflow) = inturn_system_now().addingReportingOverflow(timeoutNanoseconds)
      deadline = overflow ? nil : sum
    }
  }

  /// The remaining nanoseconds, negative for no limit. Nil on a time-out, and when the process
  /// exits, as nothing more will happen.
  var remaining: Int64? {
    if ProcessState.isExiting { return nil }
    guard let deadline else { return -1 }
    let rest = deadline - inturn_system_now()
    return rest > 0 ? rest : nil
  }
}

/// A word of C's as an atomic value.
@inline(__always)
func atomic<Value: AtomicRepresentable>(
  _ word: UnsafeMutablePointer<Value>
) -> UnsafeMutablePointer<Atomic<Value>> {
  UnsafeMutableRawPointer(word).assumingMemoryBound(to: Atomic<Value>.self)
}
