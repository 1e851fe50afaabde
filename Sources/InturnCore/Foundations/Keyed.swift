/// A word with a key to sort it by: one type for all that is sorted, so that the library contains one
/// sort.
struct Keyed {
  let key: UInt64
  let word: UInt

  init(_ word: UInt, by key: UInt64) {
    self.key = key
    self.word = word
  }

  /// The smallest key first; equal ones stay in their order.
  @inline(never)
  static func sorted(_ all: [Keyed]) -> [Keyed] { all.sorted { $0.key < $1.key } }
}
