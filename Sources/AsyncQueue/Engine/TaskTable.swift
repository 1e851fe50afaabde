internal import InturnCore
import Synchronization

/// The operations that have tasks of their own, by their tasks, from the task's creation until the
/// operation is over.
///
/// So a task that is awaited is known to be an operation's, and a task that runs one is found by
/// itself and by its child tasks.
enum TaskTable {
  /// A part of the table, of the tasks whose addresses fall here.
  private struct Shard: ~Copyable {
    /// Protects the chains. They are elsewhere, so that who changes them does not change what
    /// others look at meanwhile, the lock.
    let lock = BriefLock()
    let chains: UnsafeMutablePointer<Chains>

    init() {
      chains = .allocate(capacity: 1)
      chains.initialize(to: Chains())
    }
  }

  /// Chains of frames, linked by `nextInBucket`. They stay short however many there are.
  private struct Chains {
    private var buckets = Chains.makeBuckets(Chains.leastBits)
    private var bits = Chains.leastBits
    private var count = 0

    private static var leastBits: UInt { 4 }

    private static func makeBuckets(
      _ bits: UInt
    ) -> UnsafeMutablePointer<Unmanaged<OwnedFrame>?> {
      let buckets = UnsafeMutablePointer<Unmanaged<OwnedFrame>?>.allocate(capacity: 1 << bits)
      buckets.initialize(repeating: nil, count: 1 << bits)
      return buckets
    }

    @inline(__always)
    func bucket(_ hash: UInt) -> UnsafeMutablePointer<Unmanaged<OwnedFrame>?> {
      buckets + Int(hash & (1 << bits &- 1))
    }

    @inline(__always)
    mutating func addLocked(_ frame: OwnedFrame, _ hash: UInt) {
      if count == 2 << bits { resizeLocked(to: bits + 2) }
      count += 1
      let bucket = bucket(hash)
      frame.nextInBucket = bucket.pointee
      bucket.pointee = Unmanaged.passUnretained(frame)
    }

    @inline(__always)
    mutating func removeLocked(_ frame: OwnedFrame, _ hash: UInt) {
      let reference = Unmanaged.passUnretained(frame).toOpaque()
      let bucket = bucket(hash)
      if bucket.pointee?.toOpaque() == reference {
        bucket.pointee = frame.nextInBucket
      } else {
        var next = bucket.pointee
        while let other = next {
          next = other._withUnsafeGuaranteedRef { $0.nextInBucket }
          guard next?.toOpaque() == reference else { continue }
          other._withUnsafeGuaranteedRef { $0.nextInBucket = frame.nextInBucket }
          break
        }
      }
      count -= 1
      // The room for a crowd is given back when that is gone.
      if count == 0 && bits > Self.leastBits { resizeLocked(to: Self.leastBits) }
    }

    @inline(never)
    private mutating func resizeLocked(to newBits: UInt) {
      let (old, oldCount) = (buckets, 1 << Int(bits))
      buckets = Self.makeBuckets(newBits)
      bits = newBits
      for index in 0..<oldCount {
        var next = old[index]
        while let frame = next {
          frame._withUnsafeGuaranteedRef {
            next = $0.nextInBucket
            let bucket = bucket(TaskTable.hash($0.ownTask))
            $0.nextInBucket = bucket.pointee
            bucket.pointee = frame
          }
        }
      }
      old.deallocate()
    }
  }

  private static var shardBits: UInt { 6 }

  private nonisolated(unsafe) static let shards: UnsafeMutablePointer<Shard> = {
    let count = 1 << Int(shardBits)
    let shards = UnsafeMutablePointer<Shard>.allocate(capacity: count)
    for index in 0..<count { (shards + index).initialize(to: Shard()) }
    return shards
  }()

  /// Tasks lie some hundred bytes apart; the multiplication spreads them. Its upper bits are the
  /// best ones: the highest choose the shard, the next ones the bucket.
  @inline(__always)
  private static func hash(_ task: UInt) -> UInt {
    (task >> 4 &* 0x9E37_79B9_7F4A_7C15) >> (UInt(UInt.bitWidth) / 2 - shardBits)
  }

  @inline(__always)
  private static func shard(_ hash: UInt) -> UnsafeMutablePointer<Shard> {
    shards + Int(hash >> (UInt(UInt.bitWidth) / 2))
  }

  /// From now on, until `remove`, the operation is found by its task, `ownTask`, which lives as
  /// long. The caller keeps the frame.
  static func add(_ frame: OwnedFrame) {
    let hash = hash(frame.ownTask)
    let shard = shard(hash)
    shard.pointee.lock.lock()
    let chains = shard.pointee.chains
    chains.pointee.addLocked(frame, hash)
    shard.pointee.lock.unlock()
  }

  static func remove(_ frame: OwnedFrame) {
    let hash = hash(frame.ownTask)
    let shard = shard(hash)
    shard.pointee.lock.lock()
    let chains = shard.pointee.chains
    chains.pointee.removeLocked(frame, hash)
    shard.pointee.lock.unlock()
  }

  /// The operation of a task that is known to live.
  static func find(_ task: UInt) -> OwnedFrame? {
    let hash = hash(task)
    let shard = shard(hash)
    shard.pointee.lock.lock()
    defer { shard.pointee.lock.unlockAfterReadingObject() }
    let chains = shard.pointee.chains
    var next = chains.pointee.bucket(hash).pointee
    while let frame = next?.takeUnretainedValue() {
      if frame.ownTask == task { return frame }
      next = frame.nextInBucket
    }
    return nil
  }
}
