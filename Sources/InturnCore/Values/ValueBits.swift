import Synchronization

/// A copy of a value that can be read without a lock, if the type allows it.
///
/// Plain bits of up to one word are an atomic word. Up to sixteen words are atomic words behind a
/// sequence number, which is odd while they are written. A reader whose sequence number changes
/// while it reads has failed. Other types have no such copy; `Trail` reads them under its lock.
@usableFromInline
package enum ValueBits<Value> {
  @inlinable @inline(__always)
  static var areWord: Bool {
    _isPOD(Value.self) && MemoryLayout<Value>.size <= MemoryLayout<UInt64>.size
  }

  @inlinable @inline(__always)
  static var areWords: Bool {
    _isPOD(Value.self) && !areWord && count <= 16
      && MemoryLayout<Value>.alignment <= MemoryLayout<UInt64>.alignment
  }

  /// How many words the bits take.
  @inlinable @inline(__always)
  static var count: Int {
    (MemoryLayout<Value>.size + MemoryLayout<UInt64>.size - 1) / MemoryLayout<UInt64>.size
  }

  @inlinable @inline(__always)
  static func word(_ value: Value) -> UInt64 {
    var word: UInt64 = 0
    withUnsafeMutableBytes(of: &word) { $0.storeBytes(of: value, as: Value.self) }
    return word
  }

  @inlinable @inline(__always)
  static func value(_ word: UInt64) -> Value {
    withUnsafeBytes(of: word) { $0.loadUnaligned(as: Value.self) }
  }

  /// Words for the bits, preceded by one for the sequence number.
  @inlinable
  static func makeWords(_ value: Value) -> UnsafeMutablePointer<Atomic<UInt64>> {
    let words = UnsafeMutablePointer<Atomic<UInt64>>.allocate(capacity: 1 + count)
    for place in 0...count { (words + place).initialize(to: Atomic(0)) }
    store(value, in: words)
    return words
  }

  /// Only one writer at a time.
  ///
  /// Releasing: a reader that loads one of the new words also sees the odd number before it, and
  /// one that loads the following even number sees all new words.
  @inlinable
  static func store(_ value: Value, in words: UnsafeMutablePointer<Atomic<UInt64>>) {
    let sequence = words.pointee.load(ordering: .relaxed)
    words.pointee.store(sequence &+ 1, ordering: .relaxed)
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: count) { buffer in
      buffer[count - 1] = 0
      UnsafeMutableRawBufferPointer(buffer).storeBytes(of: value, as: Value.self)
      for place in 0..<count { words[1 + place].store(buffer[place], ordering: .releasing) }
    }
    words.pointee.store(sequence &+ 2, ordering: .releasing)
  }

  /// The value, or nil when a writer interfered.
  @inlinable
  static func load(from words: UnsafeMutablePointer<Atomic<UInt64>>) -> Value? {
    let sequence = words.pointee.load(ordering: .acquiring)
    if sequence & 1 != 0 { return nil }
    return withUnsafeTemporaryAllocation(of: UInt64.self, capacity: count) { buffer in
      // Acquiring: the second look at the sequence number comes after these loads.
      for place in 0..<count { buffer[place] = words[1 + place].load(ordering: .acquiring) }
      if words.pointee.load(ordering: .relaxed) != sequence { return nil }
      return UnsafeRawBufferPointer(buffer).loadUnaligned(as: Value.self)
    }
  }
}
