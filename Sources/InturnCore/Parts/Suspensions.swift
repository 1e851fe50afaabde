/// How often a lane is suspended, and for which reasons.
struct Suspensions: ~Copyable {
  private struct Reason: HashNode {
    let key: Bytes
    var count: UInt32 = 0
    var site = Site.unknown
    var nextInBucket: UnsafeMutablePointer<Reason>?
  }

  /// All of them, those with a reason among them.
  private(set) var count: UInt32 = 0
  private var countOfReasons: UInt32 = 0
  /// Of the last one without a reason.
  private var site = Site.unknown
  /// None of them has a count of zero.
  private var reasons = HashTable<Reason>()

  deinit { reasons.forEach { $0.deallocate() } }

  /// One of the reasons, if there are any, and where it was suspended for that last.
  var first: (reason: UnsafePointer<CChar>?, site: Site) {
    var first: (reason: UnsafePointer<CChar>?, site: Site) = (nil, site)
    reasons.forEach { first = ($0.pointee.key.text, $0.pointee.site) }
    return first
  }

  /// Adds one. False when no more can be counted.
  mutating func add(_ reason: Bytes?, at site: Site = .unknown) -> Bool {
    if count == UInt32.max { return false }
    count += 1
    guard let reason else {
      self.site = site
      return true
    }
    countOfReasons += 1
    let known = reasons.find(reason) ?? insert(reason)
    known.pointee.count += 1
    known.pointee.site = site
    return true
  }

  /// Takes one of this reason back, or one without a reason. False when there is none.
  mutating func takeBack(_ reason: Bytes?) -> Bool {
    if let reason {
      guard let known = reasons.find(reason) else { return false }
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

  private mutating func insert(_ reason: Bytes) -> UnsafeMutablePointer<Reason> {
    // The node, and a copy of the text.
    let textAt = MemoryLayout<Reason>.stride
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: textAt + reason.byteCount, alignment: MemoryLayout<Reason>.alignment)
    let node = memory.bindMemory(to: Reason.self, capacity: 1)
    node.initialize(to: Reason(key: Bytes(reason, copiedTo: memory + textAt)))
    reasons.insert(node)
    return node
  }
}
