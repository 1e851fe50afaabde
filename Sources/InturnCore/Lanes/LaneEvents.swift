import CInturnSystem

/// Something that has happened to a queue; see `inturn_event`.
package struct QueueEvent {
  /// The numbers are those of `inturn_event_kind`.
  package enum Kind: UInt32, CaseIterable {
    case enqueued = 1
    case joined, started, restarting, ended, suspended, resumed, closed, idle
  }

  package var kind: Kind
  /// The operation's number: 1 for the first that its queue accepted, 0 for an event of the queue.
  package var operation: UInt64 = 0
  package var outcome: Outcome?
  package var cause = Cause.none
  package var code: Int32 = 0
  /// Valid while the handler is called.
  package var label: UnsafePointer<CChar>?
  package var at: Int64 = 0
}

/// A queue's observer, and the events that it has not been told yet. The lane's lock protects it.
final class LaneEvents: @unchecked Sendable {
  // Safe to share: the lane's lock protects it.

  /// An event that waits. Each has its own memory, so a list of millions is never moved.
  fileprivate struct Entry {
    var event: QueueEvent
    var label: UnsafeMutablePointer<CChar>?
    var next: UnsafeMutablePointer<Entry>?
  }

  private let handler: Callback<QueueEvent>
  @exclusivity(unchecked) private var first: UnsafeMutablePointer<Entry>?
  @exclusivity(unchecked) private var last: UnsafeMutablePointer<Entry>?
  /// Whether a thread is calling the handler; events are told one at a time.
  @exclusivity(unchecked) private var isTelling = false
  /// How many operations the queue has accepted.
  @exclusivity(unchecked) private(set) var operations: UInt64 = 0
  /// Whether `idle` was noted and nothing has happened since.
  @exclusivity(unchecked) var isIdle = true

  init(_ handler: Callback<QueueEvent>) { self.handler = handler }

  var canBeTold: Bool { first != nil && !isTelling }

  func nextNumber() -> UInt64 {
    operations += 1
    return operations
  }

  func add(_ event: QueueEvent) {
    let entry = UnsafeMutablePointer<Entry>.allocate(capacity: 1)
    entry.initialize(to: Entry(event: event, label: event.label?.copied()))
    if let last { last.pointee.next = entry } else { first = entry }
    last = entry
  }

  /// Takes out the next events, `most` at most. The caller tells them one after the other, without
  /// the lock, and then calls `end`.
  @_optimize(speed)
  fileprivate func begin(most: Int) -> UnsafeMutablePointer<Entry>? {
    guard !isTelling, let begin = first else { return nil }
    isTelling = true
    var end = begin
    for _ in 1..<max(1, most) {
      guard let next = end.pointee.next else { break }
      end = next
    }
    first = end.pointee.next
    end.pointee.next = nil
    if first == nil { last = nil }
    return begin
  }

  /// Tells one event, and returns the next of those that were taken out.
  @_optimize(speed)
  fileprivate func tell(_ entry: UnsafeMutablePointer<Entry>) -> UnsafeMutablePointer<Entry>? {
    entry.pointee.event.label = entry.pointee.label.map { UnsafePointer($0) }
    handler(entry.pointee.event)
    let next = entry.pointee.next
    entry.pointee.label?.deallocate()
    entry.deallocate()
    return next
  }

  fileprivate func end() { isTelling = false }
}

extension UnsafeMutablePointer<Lane> {
  var events: LaneEvents? { pointee.extra?.pointee.events }

  /// Tells events to an observer from now on, unless there is one already.
  func observeLocked(_ new: LaneEvents) {
    let extra = needExtra()
    if extra.pointee.events != nil { return }
    stopBurstLocked()
    new.isIdle = pointee.pending == 0 && pointee.machine.running == 0
    extra.pointee.events = new
    pointee.machine.flags.insert(.isObserved)
  }

  /// Notes an event of the queue or of one of its operations.
  @inline(__always)
  func noteLocked(_ kind: QueueEvent.Kind, of slot: OperationSlot.Pointer? = nil) {
    if events != nil { noteSlowlyLocked(kind, slot) }
  }

  @inline(never)
  private func noteSlowlyLocked(_ kind: QueueEvent.Kind, _ slot: OperationSlot.Pointer?) {
    let events = events!
    var event = QueueEvent(kind: kind, at: nowLocked)
    if let slot {
      // An operation that was enqueued before there was an observer may have no details.
      if let details = slot.pointee.details {
        if details.pointee.number == 0 { details.pointee.number = events.nextNumber() }
        event.operation = details.pointee.number
        event.label = slot.label
      }
      if kind == .ended {
        event.outcome = slot.loadWord().outcome
        event.cause = slot.pointee.cause
      }
      if kind == .ended || kind == .restarting { event.code = slot.pointee.code }
      events.isIdle = false
    }
    events.add(event)
    pointee.machine.flags.insert(.hasDeliveries)
  }

  /// Notes `idle`, once, when nothing is pending or running.
  @inline(__always)
  func noteIdleLocked() {
    guard let events, !events.isIdle, pointee.pending == 0, pointee.machine.running == 0
    else { return }
    events.isIdle = true
    events.add(QueueEvent(kind: .idle, at: nowLocked))
    pointee.machine.flags.insert(.hasDeliveries)
  }

  /// Tells some waiting events; each counts as a delivery. Called with the lock, which it releases
  /// and takes again. False in a forked child, or when the process exits.
  @_optimize(speed)
  func tellEventsLocked(_ events: LaneEvents, _ budget: inout DrainBudget) -> Bool {
    guard let first = events.begin(most: min(budget.remaining, Self.portion)) else { return true }
    noteDeliveriesLocked()
    inturn_system_object_barrier()
    unlockForCall(&budget)
    var entry: UnsafeMutablePointer<LaneEvents.Entry>? = first
    while let next = entry, budget.isStillOurs {
      budget.remaining -= 1
      entry = events.tell(next)
    }
    if !relock(budget) { return false }
    events.end()
    noteDeliveriesLocked()
    return true
  }
}
