/// Who is told which change of a value, and when: a value itself, without locks and calls.
///
/// One thread at a time *delivers*: it tells one entry after the other to one observer after the
/// other, so that all of them see the same changes in the same order. Changes that are made
/// meanwhile, by whomever, wait for it.
///
///     idle --begin--> next --> call --callEnded--> next --> over --nextEntry--> next, or idle
///
/// An observer with a mailbox is not called but gets the entry into it; it has a small life of its
/// own: posted (somebody has been asked to look into the mailbox), running (it is being called).
@usableFromInline
@frozen
package struct TrailMachine<Value> {
  @usableFromInline
  package typealias Entry = TrailEntry<Value>

  /// One observer's place. It goes when the observation is cancelled and no call is under way.
  @usableFromInline
  @frozen
  package struct Place {
    /// Observations are numbered from 1, and stand in that order.
    @usableFromInline package let id: UInt64
    /// The observer; to the machine, just its name.
    @usableFromInline package let observer: UnsafeRawPointer
    @usableFromInline package let manner: TrailManner
    /// It is told the changes after this one.
    @usableFromInline package let since: UInt64
    /// It is being called with what was in its mailbox.
    @usableFromInline package var isRunning = false
    /// Cancelled in the middle of a call: it goes at the call's end, after its observer. One that is
    /// gone is cancelled for good.
    @usableFromInline package var isCancelled = false
    /// Only its number is left.
    @usableFromInline package var isGone = false
    /// Somebody has been asked to look into the mailbox and has not found it empty since.
    @usableFromInline package var isPosted = false
    /// The number of the change that it is being called with, when it is, from its mailbox.
    @usableFromInline package var current: UInt64 = 0
    /// The old value of the first of the changes that were joined with the next.
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

  /// What the delivering thread has to do next.
  @usableFromInline
  @frozen
  package struct Step {
    @usableFromInline
    package enum Action {
      /// Call the observer, then say `callEnded`.
      case call
      /// Ask somebody to look into the observer's mailbox.
      case post
      /// Let go of what is not needed any more.
      case discard
      /// Everybody has been told.
      case over
    }

    @usableFromInline package let action: Action
    @usableFromInline package var observer: UnsafeRawPointer?
    @usableFromInline package var id: UInt64 = 0
    @usableFromInline package var isPrior = false
    /// The old value to tell, where it is not the entry's.
    @usableFromInline package var heldOld: Value?
    /// To be let go of after the lock.
    @usableFromInline package var garbage: Entry?

    @inlinable
    init(_ action: Action) { self.action = action }
  }

  /// How many changes there were.
  @usableFromInline package var number: UInt64 = 0
  /// Those that are gone are taken out when they are half of them.
  @usableFromInline package var places: [Place] = []
  @usableFromInline var gone = 0
  /// Entries that the delivering thread is yet to tell.
  @usableFromInline var waiting = Backlog<Entry>()
  @usableFromInline package var isDelivering = false
  /// The number of the entry that is being told.
  @usableFromInline var delivered: UInt64 = 0
  /// The place under the cursor is being called.
  @usableFromInline var isInCall = false
  /// The observer, when there is just one, which is told each change inline and once.
  @usableFromInline var plain: UnsafeRawPointer?
  /// The place that is next to be told.
  @usableFromInline var cursor = 0
  @usableFromInline var isPriorPhase = false
  /// How many places want to be told before.
  @usableFromInline var priors = 0
  @usableFromInline package var isClosed = false
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
