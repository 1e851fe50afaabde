/// Which observer of a value is told which change, and when: a plain value, without locks and
/// calls.
///
/// One thread at a time *delivers*: it tells one entry after the other to one observer after the
/// other, so that all of them see the same changes in the same order. Changes that any thread makes
/// meanwhile wait.
///
///     idle --begin--> next --> call --callEnded--> next --> over --nextEntry--> next, or idle
///
/// An observer with a mailbox is not called; the entry goes into the mailbox, which has states of
/// its own: posted (somebody has been asked to empty it), running (the observer is being called).
@usableFromInline
@frozen
package struct TrailMachine<Value> {
  @usableFromInline
  package typealias Entry = TrailEntry<Value>

  /// An observation's place. Removed when the observation is cancelled and no call is under way.
  @usableFromInline
  @frozen
  package struct Place {
    /// Observations are numbered from 1, and their places are in that order.
    @usableFromInline package let id: UInt64
    /// The observer; an opaque name for the machine.
    @usableFromInline package let observer: UnsafeRawPointer
    @usableFromInline package let manner: TrailManner
    /// It is told the changes after this one.
    @usableFromInline package let since: UInt64
    /// Whether it is being called with an entry from its mailbox.
    @usableFromInline package var isRunning = false
    /// Cancelled during a call: the place is removed after the call, once its observer is released.
    @usableFromInline package var isCancelled = false
    /// Somebody has been asked to empty the mailbox and has not found it empty since.
    @usableFromInline package var isPosted = false
    /// The number of the change from its mailbox that it is being called with.
    @usableFromInline package var current: UInt64 = 0
    /// The old value of the first of the joined changes.
    @usableFromInline package var heldOld: Value?
    @usableFromInline package var mail = Backlog<Entry>()

    @inlinable
    init(id: UInt64, observer: UnsafeRawPointer, manner: TrailManner, since: UInt64) {
      self.id = id
      self.observer = observer
      self.manner = manner
      self.since = since
    }
  }

  /// Memory without contents, which is no part of the machine's state.
  @usableFromInline
  @frozen
  package struct Spent: Hashable {
    @usableFromInline var piece: Backlog<Entry>.Piece?

    @inlinable
    init() {}

    @inlinable
    package static func == (left: Self, right: Self) -> Bool { true }

    @inlinable
    package func hash(into hasher: inout Hasher) {}
  }

  /// The next step of the delivering thread.
  @usableFromInline
  @frozen
  package struct Step {
    @usableFromInline
    package enum Action {
      /// Call the observer, then `callEnded`.
      case call
      /// Ask somebody to empty the observer's mailbox.
      case post
      /// Drop what is no longer needed.
      case discard
      /// Everybody has been told.
      case over
    }

    @usableFromInline package let action: Action
    @usableFromInline package var observer: UnsafeRawPointer?
    @usableFromInline package var id: UInt64 = 0
    @usableFromInline package var isPrior = false
    /// The old value to tell, if it is not the entry's.
    @usableFromInline package var heldOld: Value?
    /// To be dropped without the lock.
    @usableFromInline package var garbage: Entry?

    @inlinable
    init(_ action: Action) { self.action = action }
  }

  /// How many changes there have been.
  @usableFromInline package var number: UInt64 = 0
  @usableFromInline package var places = TrailPlaces<Value>()
  /// Entries that the delivering thread still has to tell.
  @usableFromInline var waiting = Backlog<Entry>()
  @usableFromInline package var isDelivering = false
  /// The number of the entry that is being told.
  @usableFromInline var delivered: UInt64 = 0
  /// Whether the place under the cursor is being called.
  @usableFromInline var isInCall = false
  /// The only observer, if there is just one, and it is told each change inline and once.
  @usableFromInline var plain: UnsafeRawPointer?
  /// The next place to tell.
  @usableFromInline var cursor = TrailPlaces<Value>.Index(0, 0)
  @usableFromInline var isPriorPhase = false
  /// How many places want to be told before a change.
  @usableFromInline var priors = 0
  @usableFromInline package var isClosed = false
  /// What has been emptied, for `takeSpent`.
  @usableFromInline var spent = Spent()
  /// There will be no change any more.
  @usableFromInline package var isFinal = false
  @usableFromInline var lastID: UInt64 = 0

  @inlinable
  package init() {}
}

extension TrailMachine.Place: Equatable where Value: Equatable {}
extension TrailMachine.Place: Hashable where Value: Hashable {}
extension TrailMachine: Equatable where Value: Equatable {}
extension TrailMachine: Hashable where Value: Hashable {}
