import Synchronization

/// Memory for batches' entries.
///
/// The system hands out and takes back a large batch's memory page by page, which costs about as
/// much as running its operations. So one piece is kept here for the next batch.
struct BatchMemory: ~Copyable {
  /// The address of the spare piece; zero for none. Whoever exchanges it owns it. Its size is
  /// written before the release and read after the acquire.
  private let spare = Atomic<UInt>(0)
  /// The end shared by all bare jobs that have just finished.
  let finished = BatchEntry.makeFinished()

  /// A larger piece is not kept.
  private static var limit: Int { 8 << 20 }
  /// The size in bytes precedes the entries. Long enough to keep them aligned.
  private static var header: Int { 16 }

  deinit {
    finished.deallocate()
    free(UnsafeMutableRawPointer(bitPattern: spare.load(ordering: .relaxed)))
  }

  /// Memory for `count` entries; nil when there is none.
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
