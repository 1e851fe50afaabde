import Synchronization

/// Memory of batches' entries.
///
/// That of a large batch comes from the system page by page, and goes back to it, which takes
/// about as long as it takes to run its operations. So one piece stays here for the next batch.
struct BatchMemory: ~Copyable {
  /// The piece, as an address; zero for none. Whoever exchanges it has it alone: released with its
  /// size in it, acquired before that is read.
  private let spare = Atomic<UInt>(0)
  /// The end that all bare jobs share which have just finished.
  let finished = BatchEntry.makeFinished()

  /// A larger piece is not kept.
  private static var limit: Int { 8 << 20 }
  /// Before the entries: how many bytes there are for them. As long as keeps them aligned.
  private static var header: Int { 16 }

  deinit {
    finished.deallocate()
    free(UnsafeMutableRawPointer(bitPattern: spare.load(ordering: .relaxed)))
  }

  /// Memory of so many entries; nil when there is none.
  func take(_ count: Int) -> UnsafeMutablePointer<BatchEntry>? {
    let bytes = count * MemoryLayout<BatchEntry>.stride
    guard let piece = takeSpare(bytes) ?? Self.make(bytes) else { return nil }
    return (piece + Self.header).bindMemory(to: BatchEntry.self, capacity: count)
  }

  private func takeSpare(_ bytes: Int) -> UnsafeMutableRawPointer? {
    if bytes > Self.limit { return nil }
    let address = spare.exchange(0, ordering: .acquiring)
    guard let piece = UnsafeMutableRawPointer(bitPattern: address) else { return nil }
    if piece.load(as: Int.self) >= bytes { return piece }
    free(piece)
    return nil
  }

  private static func make(_ bytes: Int) -> UnsafeMutableRawPointer? {
    guard let piece = malloc(header + bytes) else { return nil }
    piece.storeBytes(of: bytes, as: Int.self)
    return piece
  }

  func giveBack(_ entries: UnsafeMutablePointer<BatchEntry>) {
    let piece = UnsafeMutableRawPointer(entries) - Self.header
    if piece.load(as: Int.self) > Self.limit { return free(piece) }
    let other = spare.exchange(UInt(bitPattern: piece), ordering: .acquiringAndReleasing)
    free(UnsafeMutableRawPointer(bitPattern: other))
  }
}
