/// What a hash table finds by its key: its user's memory.
protocol HashNode {
  associatedtype Key: Hashable
  var key: Key { get }
  var nextInBucket: UnsafeMutablePointer<Self>? { get set }
}

/// Nodes by their keys, no two of which are equal. Where there is no memory, it only gets slower: its
/// buckets stay as few as they are. Its user's lock protects it.
struct HashTable<Node: HashNode>: ~Copyable {
  typealias Pointer = UnsafeMutablePointer<Node>

  /// Zero, or a power of two.
  private var bucketCount = 0
  private var buckets: UnsafeMutablePointer<Pointer?>?
  /// The only bucket while there are no others.
  private var few: Pointer?
  private(set) var count = 0

  deinit { free(buckets) }

  func find(_ key: Node.Key) -> Pointer? {
    var next = first(in: bucket(of: key))
    while let node = next, node.pointee.key != key { next = node.pointee.nextInBucket }
    return next
  }

  /// Adds a node whose key no other one has.
  mutating func insert(_ node: Pointer) {
    if count >= 8 && count >= bucketCount { grow() }
    put(node)
    count += 1
  }

  mutating func remove(_ node: Pointer) {
    let bucket = bucket(of: node.pointee.key)
    let first = first(in: bucket)
    if first == node {
      setFirst(node.pointee.nextInBucket, in: bucket)
    } else {
      var before = first.unsafelyUnwrapped
      while before.pointee.nextInBucket != node {
        before = before.pointee.nextInBucket.unsafelyUnwrapped
      }
      before.pointee.nextInBucket = node.pointee.nextInBucket
    }
    count -= 1
  }

  /// Tells all, each of which may go away by that when it is the last time.
  func forEach(_ body: (Pointer) -> Void) {
    for bucket in 0..<max(1, bucketCount) {
      var next = first(in: bucket)
      while let node = next {
        next = node.pointee.nextInBucket
        body(node)
      }
    }
  }

  @inline(__always)
  private func bucket(of key: Node.Key) -> Int {
    bucketCount == 0 ? 0 : key.hashValue & (bucketCount - 1)
  }

  @inline(__always)
  private func first(in bucket: Int) -> Pointer? {
    if let buckets { buckets[bucket] } else { few }
  }

  @inline(__always)
  private mutating func setFirst(_ node: Pointer?, in bucket: Int) {
    if let buckets { buckets[bucket] = node } else { few = node }
  }

  private mutating func put(_ node: Pointer) {
    let bucket = bucket(of: node.pointee.key)
    node.pointee.nextInBucket = first(in: bucket)
    setFirst(node, in: bucket)
  }

  @inline(never)
  private mutating func grow() {
    let larger = max(16, 2 * bucketCount)
    guard let memory = calloc(larger, MemoryLayout<Pointer?>.stride) else { return }
    var all: Pointer?
    forEach {
      $0.pointee.nextInBucket = all
      all = $0
    }
    free(buckets)
    buckets = memory.bindMemory(to: Pointer?.self, capacity: larger)
    bucketCount = larger
    few = nil
    while let node = all {
      all = node.pointee.nextInBucket
      put(node)
    }
  }
}
