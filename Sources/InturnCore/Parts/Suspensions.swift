import CInturnSystem

/// How often a lane is suspended, and why.
struct Suspensions: ~Copyable {
  private struct Reason: HashNode {
    let key: HashedBytes
    var count: UInt32 = 0
    var site = Site.unknown
    var nextInBucket: UnsafeMutablePointer<Reason>?
  }

  /// All suspensions, including those with a reason.
  private(set) var count: UInt32 = 0
  private var countOfReasons: UInt32 = 0
  /// Where the last suspension without a reason was made.
  private var site = Site.unknown
  /// Since when there are any.
  private(set) var since: Int64 = 0
  /// No reason has a count of zero.
  private var reasons = HashTable<Reason>()

  deinit { reasons.forEach { $0.deallocate() } }

  /// One of the reasons, if there are any, and where the lane was last suspended for it.
  var first: (reason: UnsafePointer<CChar>?, site: Site) {
    var first: (reason: UnsafePointer<CChar>?, site: Site) = (nil, site)
    reasons.forEach { first = ($0.pointee.key.bytes.text, $0.pointee.site) }
    return first
  }

  /// Adds a suspension. False when no more can be counted.
  mutating func add(_ reason: Bytes?, at site: Site = .unknown) -> Bool {
    if count == UInt32.max { return false }
    if count == 0 { since = inturn_system_now() }
    count += 1
    guard let reason else {
      self.site = site
      return true
    }
    countOfReasons += 1
    let key = HashedBytes(reason)
    let known = reasons.find(key) ?? insert(key)
    known.pointee.count += 1
    known.pointee.site = site
    return true
  }

  /// Removes a suspension with this reason, or one without a reason. False when there is none.
  mutating func takeBack(_ reason: Bytes?) -> Bool {
    if let reason {
      guard let known = reasons.find(HashedBytes(reason)) else { return false }
      known.pointee.count -= 1
      if known.pointee.count == 0 {
        reasons.remove(known)
        known.deallocate()
      }
      countOfReasons -= 1
    } else if count == countOfReasons {
      return false
    }
    count -= 1
    return true
  }

  /// Removes all suspensions, for whatever reasons. False when there is none.
  mutating func takeAllBack() -> Bool {
    if count == 0 { return false }
    self = Suspensions()
    return true
  }

  private mutating func insert(_ reason: HashedBytes) -> UnsafeMutablePointer<Reason> {
    // One piece of memory for the node and a copy of the text.
    let textAt = MemoryLayout<Reason>.stride
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: textAt + reason.bytes.byteCount, alignment: MemoryLayout<Reason>.alignment)
    let node = memory.bindMemory(to: Reason.self, capacity: 1)
    var key = reason
    key.bytes = Bytes(reason.bytes, copiedTo: memory + textAt)
    node.initialize(to: Reason(key: key))
    reasons.insert(node)
    return node
  }
}
