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
  /// The one that it has joined; a reference, because its result is that one's.
  var leader: OperationSlot.Pointer?
  /// It is among that one's followers.
  var isFollowing = false
  var followerBefore: OperationSlot.Pointer?
  var followerAfter: OperationSlot.Pointer?
  /// Those that have joined this one.
  var firstFollower: OperationSlot.Pointer?
  var lastFollower: OperationSlot.Pointer?
  var hasBeenJoined = false

  init(key: Bytes?, owner: Owner?, joins: Bool) {
    self.key = key
    self.owner = owner
    self.joins = joins
  }
}

extension UnsafeMutablePointer<OperationSlot> {
  var groups: UnsafeMutablePointer<OperationGroups>? { pointee.details?.pointee.groups }
}
