import Synchronization

/// The threads that sleep in calls of the library's users, so that they return when the process exits:
/// whoever joins them in an exit handler would wait for ever, as nothing more is called.
final class Sleepers: @unchecked Sendable {
  // Safe to share: `lock` protects the list.

  /// A sleeping thread's, on its stack.
  fileprivate struct Place {
    let word: WakeWord
    var previous: UnsafeMutablePointer<Place>?
    var next: UnsafeMutablePointer<Place>?
  }

  /// Taken last, and held while all are woken.
  private let lock = BriefLock()
  @exclusivity(unchecked) private var first: UnsafeMutablePointer<Place>?

  /// Once the process exits. Each looks again; who begins to sleep later finds out before.
  func wakeAll() {
    lock.withLock {
      var place = first
      while let current = place {
        current.pointee.word.advance()
        place = current.pointee.next
      }
    }
  }

  fileprivate func add(_ place: UnsafeMutablePointer<Place>) {
    lock.withLock {
      place.pointee.next = first
      first?.pointee.previous = place
      first = place
    }
  }

  fileprivate func remove(_ place: UnsafeMutablePointer<Place>) {
    lock.withLock {
      let (previous, next) = (place.pointee.previous, place.pointee.next)
      next?.pointee.previous = previous
      if let previous { previous.pointee.next = next } else { first = next }
    }
  }
}

extension WakeWord {
  /// The same as `wait`, until the process exits at the latest. Only for words that count: that
  /// changes them.
  @inline(never)
  func waitUntilExit(while value: UInt32, timeoutNanoseconds: Int64 = -1) {
    let sleepers = Engine.current.pointee.sleepers
    var place = Sleepers.Place(word: self)
    withUnsafeMutablePointer(to: &place) {
      sleepers.add($0)
      if !ProcessState.isExiting { wait(while: value, timeoutNanoseconds: timeoutNanoseconds) }
      sleepers.remove($0)
    }
  }
}
