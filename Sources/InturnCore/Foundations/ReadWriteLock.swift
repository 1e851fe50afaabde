import CInturnSystem
import Synchronization

/// A lock that many readers or one writer hold, for as long as they like.
///
/// It spins for a moment and then sleeps. A writer that finds it taken first sets a flag that keeps
/// new readers out, so that it gets its turn. It is not recursive: a reader that reads again may
/// wait for a writer that waits for it.
package final class ReadWriteLock: @unchecked Sendable {
  // Safe to share: what changes is atomic.

  private static var writing: UInt32 { 1 << 31 }
  /// Some thread sleeps, or is about to.
  private static var awaited: UInt32 { 1 << 30 }
  private static var writerWaits: UInt32 { 1 << 29 }

  /// The number of readers, and the flags above. Acquiring when taken, releasing when released:
  /// each holder sees what the one before it wrote.
  private let word = UnsafeMutablePointer<Atomic<UInt32>>.allocate(capacity: 1)

  package init() { word.initialize(to: Atomic(0)) }

  deinit { word.deallocate() }

  @inline(__always)
  package func lockForReading() {
    let current = word.pointee.load(ordering: .relaxed)
    if current < Self.writerWaits, exchange(current, current + 1) { return }
    take { $0 & (Self.writing | Self.writerWaits) == 0 ? $0 + 1 : nil }
  }

  @inline(__always)
  package func unlockAfterReading() {
    let left = word.pointee.wrappingSubtract(1, ordering: .releasing).newValue
    if left & ~Self.writerWaits == Self.awaited { wake() }
  }

  @inline(__always)
  package func lockForWriting() {
    if exchange(0, Self.writing) { return }
    take(marking: Self.writerWaits) {
      // Other waiting writers set the flag again when they find the lock taken.
      $0 & ~(Self.awaited | Self.writerWaits) == 0
        ? $0 & Self.awaited | Self.writing : nil
    }
  }

  @inline(__always)
  package func unlockAfterWriting() {
    let left = word.pointee.bitwiseAnd(~Self.writing, ordering: .releasing).newValue
    if left & Self.awaited != 0 { wake() }
  }

  @inline(__always)
  private func exchange(_ old: UInt32, _ new: UInt32) -> Bool {
    word.pointee.compareExchange(expected: old, desired: new, ordering: .acquiring).exchanged
  }

  /// Takes the lock as soon as `step` returns the word for that.
  @inline(never)
  private func take(marking mark: UInt32 = 0, _ step: (UInt32) -> UInt32?) {
    var backoff = Backoff()
    while true {
      let current = word.pointee.load(ordering: .relaxed)
      if let next = step(current) {
        if exchange(current, next) { return }
      } else if current & mark != mark {
        word.pointee.bitwiseOr(mark, ordering: .relaxed)
      } else if backoff.isShort {
        backoff.pause()
      } else {
        let marked = current | Self.awaited
        if marked == current || exchange(current, marked) { word.wait(while: marked) }
      }
    }
  }

  @inline(never)
  private func wake() {
    word.pointee.bitwiseAnd(~Self.awaited, ordering: .relaxed)
    word.wakeAll()
  }
}
