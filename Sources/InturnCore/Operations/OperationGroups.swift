/// What only operations with a key or an owner have. The lane's lock protects it, and the owner's
/// lock the links of its list.
struct OperationGroups {
  var key: Bytes?
  /// Of those with the key.
  var sameKeyBefore: OperationSlot.Pointer?
  var sameKeyAfter: OperationSlot.Pointer?

  var owner: Owner?
  /// Of those with the owner; in the order from the last one to the first.
  var ownedBefore: OperationSlot.Pointer?
  var ownedAfter: OperationSlot.Pointer?

  /// It is to end with another one of its key, if there is one.
  let joins: Bool
  /// Those that end as one, of which it is the leader or has joined the leader.
  var party: Party?
  /// It is among the party's followers.
  var isFollowing = false
  var followerBefore: OperationSlot.Pointer?
  var followerAfter: OperationSlot.Pointer?
  var hasBeenJoined = false

  /// With a copy of the key in the same piece of memory, which `deallocate` frees.
  @_optimize(speed)
  static func make(key: Bytes?, owner: Owner?, joins: Bool) -> UnsafeMutablePointer<Self> {
    let keyAt = MemoryLayout<Self>.stride
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: keyAt + (key?.byteCount ?? 0), alignment: MemoryLayout<Self>.alignment)
    let groups = memory.bindMemory(to: Self.self, capacity: 1)
    groups.initialize(to: Self(owner: owner, joins: joins))
    if let key { groups.pointee.key = Bytes(key, copiedTo: memory + keyAt) }
    return groups
  }
}

/// An operation and those that have joined it. The lane's lock protects it.
///
/// All of them refer to it, and so find their leader whoever that is: one that stands in for another
/// one takes its place here, and nobody else hears of it. The leader lets go of it when it ends.
final class Party: @unchecked Sendable {
  // Safe to share: as above.

  /// A reference, because its result is that of all.
  @exclusivity(unchecked) private(set) var leader: OperationSlot.Pointer
  @exclusivity(unchecked) private(set) var firstFollower: OperationSlot.Pointer?
  @exclusivity(unchecked) private var lastFollower: OperationSlot.Pointer?
  /// Its leader has ended so, and those that are left are about to.
  @exclusivity(unchecked) var isEnding = false
  /// The next one of those in an outbox, which refers to it.
  @exclusivity(unchecked) var nextEnding: Unmanaged<Party>?

  init(leader: OperationSlot.Pointer) {
    self.leader = leader
    leader.addReference()
  }

  /// Never with the last reference of a slot under a lock: while its lane has the slot, it has one.
  deinit { leader.dropReference() }

  func append(_ slot: OperationSlot.Pointer) {
    let groups = slot.groups!
    groups.pointee.party = self
    groups.pointee.isFollowing = true
    groups.pointee.followerAfter = nil
    groups.pointee.followerBefore = lastFollower
    if let lastFollower {
      lastFollower.groups!.pointee.followerAfter = slot
    } else {
      firstFollower = slot
    }
    lastFollower = slot
  }

  func remove(_ slot: OperationSlot.Pointer) {
    let groups = slot.groups!
    groups.pointee.isFollowing = false
    let (before, after) = (groups.pointee.followerBefore, groups.pointee.followerAfter)
    if let before { before.groups!.pointee.followerAfter = after } else { firstFollower = after }
    if let after { after.groups!.pointee.followerBefore = before } else { lastFollower = before }
  }

  /// One of the followers leads from now on. The old leader has ended, and its lane still has it.
  func promote(_ slot: OperationSlot.Pointer) {
    remove(slot)
    slot.addReference()
    _ = leader.dropReferenceWithoutRecycling()
    leader = slot
  }
}

extension UnsafeMutablePointer<OperationSlot> {
  var groups: UnsafeMutablePointer<OperationGroups>? { pointee.details?.pointee.groups }
}
