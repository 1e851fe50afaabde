/// A key of a hash table.
protocol HashKey: Equatable {
  /// Read several times for each call of the table. Its lowest bits choose the bucket.
  var hash: Int { get }
}

/// A node of a hash table, found by its key. Its memory belongs to the table's user.
protocol HashNode {
  associatedtype Key: HashKey
  var key: Key { get }
  var nextInBucket: UnsafeMutablePointer<Self>? { get set }
}

/// Nodes by their keys, which are all different. Without memory it only gets slower, because the
/// number of buckets stays the same. It grows gradually, a few buckets at a time, so that nobody
/// waits long for the user's lock, which protects it.
struct HashTable<Node: HashNode>: ~Copyable {
  typealias Pointer = UnsafeMutablePointer<Node>

  private struct Buckets {
    /// A power of two.
    let count: Int
    let first: UnsafeMutablePointer<Pointer?>

    /// Nil when memory runs out.
    init?(_ count: Int) {
      guard let memory = calloc(count, MemoryLayout<Pointer?>.stride) else { return nil }
      self.count = count
      first = memory.bindMemory(to: Pointer?.self, capacity: count)
    }

    func place(_ hash: Int) -> Int { hash & (count - 1) }
  }

  /// Nil while there are few nodes.
  private var buckets: Buckets?
  /// The previous buckets, of which those from `moved` on are still to be moved.
  private var old: Buckets?
  private var moved = 0
  /// The only bucket while there are no others.
  private var few: Pointer?
  private(set) var count = 0

  deinit {
    free(buckets?.first)
    free(old?.first)
  }

  @inline(never)
  func find(_ key: Node.Key) -> Pointer? {
    var next = bucket(of: key)?.pointee ?? few
    while let node = next, node.pointee.key != key { next = node.pointee.nextInBucket }
    return next
  }

  /// Adds a node whose key no other one has.
  @inline(never)
  mutating func insert(_ node: Pointer) {
    if old != nil {
      moveSome()
    } else if count >= 8 && count >= buckets?.count ?? 0 {
      grow()
    }
    put(node)
    count += 1
  }

  @inline(never)
  mutating func remove(_ node: Pointer) {
    let bucket = bucket(of: node.pointee.key)
    var next = bucket?.pointee ?? few
    if next == node {
      if let bucket {
        bucket.pointee = node.pointee.nextInBucket
      } else {
        few = node.pointee.nextInBucket
      }
    } else {
      while let before = next, before.pointee.nextInBucket != node {
        next = before.pointee.nextInBucket
      }
      next.unsafelyUnwrapped.pointee.nextInBucket = node.pointee.nextInBucket
    }
    count -= 1
  }

  /// Calls `body` with each node, which may then be freed if the table is no longer used.
  func forEach(_ body: (Pointer) -> Void) {
    func tell(_ first: Pointer?) {
      var next = first
      while let node = next {
        next = node.pointee.nextInBucket
        body(node)
      }
    }
    tell(few)
    for place in 0..<(buckets?.count ?? 0) { tell(buckets!.first[place]) }
    for place in 0..<(old?.count ?? 0) { tell(old!.first[place]) }
  }

  /// Nil while all nodes are in `few`.
  private func bucket(of key: Node.Key) -> UnsafeMutablePointer<Pointer?>? {
    guard let buckets else { return nil }
    let hash = key.hash
    if let old, old.place(hash) >= moved { return old.first + old.place(hash) }
    return buckets.first + buckets.place(hash)
  }

  private mutating func put(_ node: Pointer) {
    if let bucket = bucket(of: node.pointee.key) {
      node.pointee.nextInBucket = bucket.pointee
      bucket.pointee = node
    } else {
      node.pointee.nextInBucket = few
      few = node
    }
  }

  @inline(never)
  private mutating func grow() {
    guard let larger = Buckets(max(16, 2 * (buckets?.count ?? 0))) else { return }
    (old, moved) = (buckets, 0)
    buckets = larger
    if old != nil { return }
    move(few)
    few = nil
  }

  /// Moves more than one bucket for each node that is added, so that all are moved before the table
  /// grows again.
  @inline(never)
  private mutating func moveSome() {
    guard let from = old else { return }
    for _ in 0..<4 where moved < from.count {
      let first = from.first[moved]
      from.first[moved] = nil
      moved += 1
      move(first)
    }
    if moved < from.count { return }
    free(from.first)
    old = nil
  }

  private mutating func move(_ first: Pointer?) {
    var next = first
    while let node = next {
      next = node.pointee.nextInBucket
      put(node)
    }
  }
}
