/// What an observer is told of. The numbers are those of `inturn_change_kind`.
@usableFromInline
package enum TrailKind: UInt8 {
  /// The value has been changed.
  case change = 1
  /// The value when the observation began; there is no old value.
  case initial
  /// A change, before anybody else is told of it, for observers that asked for that.
  case prior
}

/// One notification to be made: a change, or an observation's initial value.
@usableFromInline
@frozen
package struct TrailEntry<Value> {
  /// The number of the change, from 1; for an initial value, that of the change that made it.
  @usableFromInline package let number: UInt64
  /// For an initial value, the only observation to be told. Zero for all of them.
  @usableFromInline let target: UInt64
  /// How many changes answer one another, up to and including this one.
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
  /// What happens when a mailbox is full.
  @usableFromInline
  package enum Overflow: UInt8, Hashable, Sendable {
    case dropsOldest, dropsNewest
  }

  /// Begins with the present value.
  @usableFromInline package var initial = false
  /// Is also told of each change before the others are.
  @usableFromInline package var prior = false
  /// Changes that are out of date when they would be told are joined with the next one.
  @usableFromInline package var latest = false
  /// Entries go to a mailbox, from which whoever the observer's `post` calls takes them.
  @usableFromInline package var hasMailbox = false
  /// Its mailbox is emptied by a consumer, with `pull`, rather than by `runMail`.
  @usableFromInline package var isPulled = false
  /// The capacity of the mailbox; zero for no limit.
  @usableFromInline package var capacity = 0
  @usableFromInline package var overflow = Overflow.dropsOldest

  @inlinable
  package init() {}
}
