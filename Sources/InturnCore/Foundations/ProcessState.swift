import Synchronization

/// Which process this is, counted by forks, and whether it is exiting.
///
/// Bits 0 to 3 are the epoch, 1 to 15, which every handle carries: a child of a fork has another
/// one than its parent, so that it knows inherited handles by their bits. Bit 31 is set once the
/// process exits. Relaxed order is enough: a fork's child has one thread, and exiting only asks
/// others to stop soon.
let processWord = Atomic<UInt32>(1)

package enum ProcessState {
  static let exitingBit: UInt32 = 1 << 31

  @inline(__always)
  static var current: UInt32 { processWord.load(ordering: .relaxed) }

  /// The epoch of handles that are made now.
  @inline(__always)
  static var epoch: UInt8 { UInt8(truncatingIfNeeded: current & 15) }

  static var isExiting: Bool { current & exitingBit != 0 }

  /// Called in the child of a fork, where the caller is the only thread.
  static func becomeChild() {
    let epoch = current & 15
    processWord.store(epoch == 15 ? 1 : epoch + 1, ordering: .relaxed)
  }

  static func beginExit() {
    processWord.bitwiseOr(exitingBit, ordering: .relaxed)
  }
}
