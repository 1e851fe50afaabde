import CInturnSystem
import Synchronization

/// Which process this is, counted by forks, and whether it is exiting.
///
/// Bits 0 to 3 are the epoch, 1 to 15, which every handle carries. A forked child has a different
/// one than its parent, so it recognises inherited handles by their bits. Bits 4 to 30 are the
/// round, which counts how often the epochs have started over; see `EngineStorage.indexFloor`. Bit
/// 31 is set once the process exits. Relaxed order is enough: a forked child has one thread, and
/// exiting only asks others to stop soon.
package enum ProcessState {
  static var exitingBit: UInt32 { 1 << 31 }

  @inline(__always)
  private static var word: UnsafeMutablePointer<Atomic<UInt32>> {
    atomic(inturn_system_state())
  }

  @inline(__always)
  package static var current: UInt32 { word.pointee.load(ordering: .relaxed) }

  /// The epoch of newly created handles.
  @inline(__always)
  static var epoch: UInt8 { UInt8(truncatingIfNeeded: current & 15) }

  static var round: UInt32 { (current & ~exitingBit) >> 4 }

  /// Whether this process is the child of another one that had the library loaded.
  static var wasForked: Bool { current & ~exitingBit != 1 }

  /// Whether this is a child that was forked since `current` was read. What was used before belongs to
  /// the parent's engine.
  @inline(__always)
  static func isForked(since before: UInt32) -> Bool { (current ^ before) & ~exitingBit != 0 }

  static var isExiting: Bool { current & exitingBit != 0 }

  static func beginExit() { word.pointee.bitwiseOr(exitingBit, ordering: .relaxed) }
}
