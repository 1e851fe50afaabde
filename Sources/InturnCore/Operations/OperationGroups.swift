/// What only operations with a key or an owner have. The lane's lock protects it; the owner's lock
/// protects the links of the owner's list.
struct OperationGroups {
  var key: Bytes?
  /// Links among the operations with this key.
  var sameKeyBefore: OperationSlot.Pointer?
  var sameKeyAfter: OperationSlot.Pointer?

  var owner: Owner?
  /// Links among the operations with this owner, from the newest to the oldest.
  var ownedBefore: OperationSlot.Pointer?
  var ownedAfter: OperationSlot.Pointer?

  /// Whether it joins an operation with the same key, if there is one.
  let joins: Bool
  /// The operations that end together, if this one leads them or has joined them.
  var party: Party?
  /// Whether it is one of the party's followers.
  var isFollowing = false
  var followerBefore: OperationSlot.Pointer?
  var followerAfter: OperationSlot.Pointer?
  var hasBeenJoined = false

  /// Allocates groups with a copy of the key in the same piece of memory, which `deallocate` frees.
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
/// All of them refer to the party and so find their leader: a follower that stands in for it only
/// has to take its place here. The leader drops the party when it ends.
final class Party: @unchecked Sendable {
  // Safe to share: as above.

  /// With a reference, as its result becomes everybody's.
  @exclusivity(unchecked) private(set) var leader: OperationSlot.Pointer
  @exclusivity(unchecked) private(set) var firstFollower: OperationSlot.Pointer?
  @exclusivity(unchecked) private var lastFollower: OperationSlot.Pointer?
  /// Whether its leader has ended and the remaining followers are about to end in the same way.
  @exclusivity(unchecked) var isEnding = false
  /// The next party in an outbox, which retains it.
  @exclusivity(unchecked) var nextEnding: Unmanaged<Party>?

  init(leader: OperationSlot.Pointer) {
    self.leader = leader
    leader.addReference()
  }

  /// Never drops the last reference of a slot under a lock: while the slot is in its lane, the lane
  /// holds one.
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

  /// Makes a follower the leader. The old leader has ended, and its lane still refers to it.
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
