import CInturnSystem
import Synchronization

/// Which process this is, counted by forks, and whether it is exiting.
///
/// Bits 0 to 3 are the epoch, 1 to 15, which every handle carries: a child of a fork has another
/// one than its parent, so that it knows inherited handles by their bits. Bits 4 to 30 are the round,
/// which counts how often the epochs began anew; see `EngineStorage.indexFloor`. Bit 31 is set once
/// the process exits. Relaxed order is enough: a fork's child has one thread, and exiting only asks
/// others to stop soon.
package enum ProcessState {
  static var exitingBit: UInt32 { 1 << 31 }

  @inline(__always)
  private static var word: UnsafeMutablePointer<Atomic<UInt32>> {
    UnsafeMutableRawPointer(inturn_system_state()).assumingMemoryBound(to: Atomic<UInt32>.self)
  }

  @inline(__always)
  static var current: UInt32 { word.pointee.load(ordering: .relaxed) }

  /// The epoch of handles that are made now.
  @inline(__always)
  static var epoch: UInt8 { UInt8(truncatingIfNeeded: current & 15) }

  static var round: UInt32 { (current & ~exitingBit) >> 4 }

  /// Whether this process is the child of another one that had the library loaded.
  static var wasForked: Bool { current & ~exitingBit != 1 }

  static var isExiting: Bool { current & exitingBit != 0 }

  static func beginExit() { word.pointee.bitwiseOr(exitingBit, ordering: .relaxed) }
}
