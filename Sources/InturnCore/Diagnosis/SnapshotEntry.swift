/// One entry of a snapshot; see `inturn_entry`. It is a copy, so that it stays valid when its object
/// has changed or is gone.
package struct SnapshotEntry: Sendable {
  package enum Kind: Int32, Sendable {
    case executor = 1
    case clock, owner, batch, wait, queue
    /// Follow their queue.
    case operation
    /// Follow their operation.
    case after, name
  }

  package struct Flags: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    static let cancelled = Flags(rawValue: 1 << 0)
    static let closed = Flags(rawValue: 1 << 1)
    static let waitedFor = Flags(rawValue: 1 << 2)
    static let barrier = Flags(rawValue: 1 << 3)
    static let urgent = Flags(rawValue: 1 << 4)
    static let manual = Flags(rawValue: 1 << 5)
    static let pool = Flags(rawValue: 1 << 6)
    static let main = Flags(rawValue: 1 << 7)
  }

  package typealias Label = (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)

  package let kind: Kind
  package var flags: Flags = []
  package var state: OperationState?
  package var cause = StallLink.Cause.none
  package var queueKind: QueueKind?
  package var priority: Int32 = 0
  package var attempts: UInt32 = 0
  package var suspends: UInt32 = 0
  package var id = Handle(bits: 0)
  package var queue = Handle(bits: 0)
  package var operation = Handle(bits: 0)
  package var other = Handle(bits: 0)
  package var batch = Handle(bits: 0)
  package var owner = Handle(bits: 0)
  package var executor = Handle(bits: 0)
  package var clock = Handle(bits: 0)
  package var token = Handle(bits: 0)
  package var count: UInt64 = 0
  package var pending: UInt64 = 0
  package var running: UInt64 = 0
  package var ended: UInt64 = 0
  package var enqueuedAt: Int64 = 0
  package var startedAt: Int64 = 0
  package var site = Site.unknown
  package var moment: Int64 = 0
  /// Ends with a zero.
  package private(set) var label: Label = (0, 0, 0, 0, 0, 0, 0, 0)

  init(_ kind: Kind) { self.kind = kind }

  mutating func setLabel(_ text: UnsafePointer<CChar>?) {
    guard let text else { return }
    withUnsafeMutableBytes(of: &label) { cutText(text, to: $0) }
  }

  mutating func setLabel(_ text: Text?) { text?.withCString { setLabel($0) } }
}

/// Room for the entries of one piece of a walk, on the walker's stack.
struct SnapshotRoom {
  /// The last piece's entries stay until the next piece overwrites them: the walk continues after them.
  private let entries: UnsafeMutablePointer<SnapshotEntry>
  let capacity: Int
  private(set) var count = 0
  /// The number of entries in the last piece.
  private var toldCount = 0
  private let visit: (SnapshotEntry) -> Bool

  init(
    _ memory: UnsafeMutableRawPointer, byteCount: Int,
    _ visit: @escaping (SnapshotEntry) -> Bool
  ) {
    capacity = byteCount / MemoryLayout<SnapshotEntry>.stride
    entries = memory.bindMemory(to: SnapshotEntry.self, capacity: capacity)
    self.visit = visit
  }

  var free: Int { capacity - count }

  /// An entry of the last piece, counted from its end.
  func told(_ place: Int) -> SnapshotEntry? {
    count == 0 && place < toldCount ? entries[toldCount - 1 - place] : nil
  }

  /// The caller has checked that there is room.
  mutating func add(_ entry: SnapshotEntry) {
    (entries + count).initialize(to: entry)
    count += 1
  }

  /// Counts one more job in the last entry. False if that is about something else.
  func addToLast(ofBatch batch: Handle) -> Bool {
    guard count > 0 else { return false }
    let last = entries + (count - 1)
    guard last.pointee.kind == .operation, last.pointee.id.bits == 0, last.pointee.batch == batch
    else { return false }
    last.pointee.count += 1
    return true
  }

  /// Passes the entries on, and makes room. False if the visitor wants no more. No lock is held.
  mutating func tell() -> Bool {
    toldCount = count
    count = 0
    for place in 0..<toldCount where !visit(entries[place]) { return false }
    return true
  }
}
