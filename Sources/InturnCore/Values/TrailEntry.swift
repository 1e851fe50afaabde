/// What an observer is told. The numbers are those of `inturn_change_kind`.
@usableFromInline
package enum TrailKind: UInt8 {
  /// The value has been changed.
  case change = 1
  /// What the value was when the observation began; there is no old value.
  case initial
  /// Before anybody is told of a change, for those who asked for that.
  case prior
}

/// One notification that is due: a change, or the value that an observation begins with.
@usableFromInline
@frozen
package struct TrailEntry<Value> {
  /// The number of the change, from 1; of an initial value, that of the change that made it.
  @usableFromInline package let number: UInt64
  /// Of an initial value, the observation that alone is told. Zero: all of them.
  @usableFromInline let target: UInt64
  /// How many changes, the last of which is this one, answer one another.
  @usableFromInline let depth: UInt32
  @usableFromInline package var kind: TrailKind
  @usableFromInline package var old: Value?
  @usableFromInline package var new: Value

  @inlinable
  package init(
    number: UInt64, target: UInt64 = 0, depth: UInt32 = 1, kind: TrailKind = .change, old: Value?,
    new: Value
  ) {
    self.number = number
    self.target = target
    self.depth = depth
    self.kind = kind
    self.old = old
    self.new = new
  }
}

extension TrailEntry: Equatable where Value: Equatable {}
extension TrailEntry: Hashable where Value: Hashable {}

/// How an observer wants to be told.
@usableFromInline
@frozen
package struct TrailManner: Hashable, Sendable {
  /// What happens to changes that nobody has taken from the mailbox yet.
  @usableFromInline
  package enum Overflow: UInt8, Hashable, Sendable {
    case dropsOldest, dropsNewest
  }

  /// Begins with the value as it is.
  @usableFromInline package var initial = false
  /// Is told of each change before the others are, too.
  @usableFromInline package var prior = false
  /// Changes that are out of date by the time that they would be told are joined with the next.
  @usableFromInline package var latest = false
  /// What is told goes to a mailbox; whoever the observer's `post` calls takes it from there.
  @usableFromInline package var hasMailbox = false
  /// Its mailbox is emptied by a consumer's `take`, not by `runMail`.
  @usableFromInline package var isPulled = false
  /// How much a mailbox takes; zero: anything.
  @usableFromInline package var capacity = 0
  @usableFromInline package var overflow = Overflow.dropsOldest

  @inlinable
  package init() {}
}
