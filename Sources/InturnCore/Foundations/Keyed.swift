import CInturnSystem

/// A word with a key to sort it by: one type for all that is sorted.
struct Keyed {
  let key: UInt64
  let word: UInt

  init(_ word: UInt, by key: UInt64) {
    self.key = key
    self.word = word
  }

  /// The smallest key first; equal ones in any order. The C library's sort: Swift's would be the
  /// largest function of it that libinturn contains.
  @inline(never)
  static func sort(_ all: inout [Keyed]) {
    if all.count < 2 { return }
    all.withUnsafeMutableBufferPointer {
      inturn_system_sort($0.baseAddress.unsafelyUnwrapped, UInt($0.count))
    }
  }
}
