import Synchronization

/// The work of one operation of a batch.
package struct BatchItem {
  package let work: RawWork
  package let context: UnsafeMutableRawPointer?
  package let destroy: RawDestroy?

  package init(work: @escaping RawWork, context: UnsafeMutableRawPointer?, destroy: RawDestroy?) {
    self.work = work
    self.context = context
    self.destroy = destroy
  }
}

/// One operation of a batch.
struct BatchEntry: ~Copyable {
  struct End {
    var end: OperationEnd
    var resultDestroy: RawDestroy?

    /// The end of a bare job that has finished.
    fileprivate static var finished: End {
      var end = OperationEnd(outcome: .finished, cause: .none)
      end.attempts = 1
      return End(end: end)
    }

    fileprivate var isFinished: Bool {
      end.outcome == .finished && end.cause == .none && end.code == 0 && end.result == nil
        && resultDestroy == nil && end.label == nil && end.attempts == 1
        && end.enqueuedAt | end.startedAt | end.endedAt == 0
    }
  }

  let item: BatchItem
  let batch: Unmanaged<Batch>
  /// The bits of its first token once it has been started. A starter stores it before it checks
  /// whether the batch is stopped; a canceller loads it after it has stopped the batch.
  /// Sequentially consistent, unless both take the lane's lock in between.
  let token = Atomic<UInt64>(0)
  /// Stands in for the token of an operation that its lane has taken out before its start.
  static var takenOut: UInt64 { UInt64.max }
  /// With a reference until the operation has ended; nil for a bare job.
  var slot: OperationSlot.Pointer?
  /// Nil until it has ended. Most bare jobs share one end, which keeps a large batch small.
  var end: UnsafeMutablePointer<End>?

  /// The engine's: a lazily initialised one could be left half made by a fork.
  static var finished: UnsafeMutablePointer<End> {
    Engine.current.pointee.batchMemory.finished
  }

  /// The shared end of bare jobs that have finished. It never changes.
  static func makeFinished() -> UnsafeMutablePointer<End> {
    let end = UnsafeMutablePointer<End>.allocate(capacity: 1)
    end.initialize(to: .finished)
    return end
  }
}

extension UnsafeMutablePointer<BatchEntry> {
  /// Records how it has ended. Its batch is locked.
  func note(_ end: BatchEntry.End) {
    if end.isFinished {
      pointee.end = BatchEntry.finished
      return
    }
    let place = UnsafeMutablePointer<BatchEntry.End>.allocate(capacity: 1)
    place.initialize(to: end)
    pointee.end = place
  }

  /// Destroys its result, when the batch is destroyed.
  func destroyEnd() {
    guard let end = pointee.end, end != BatchEntry.finished else { return }
    if let destroy = end.pointee.resultDestroy { destroy(end.pointee.end.result) }
    end.deallocate()
  }

  /// The slot of a bare job that runs or is to be started again, with a reference, and the
  /// generation of its first token.
  var running: (OperationSlot.Pointer, UInt32?)? {
    let token = Handle(bits: pointee.token.load(ordering: .sequentiallyConsistent))
    let id = Handle(.operation, index: token.index, generation: token.generation)
    guard token.isOf(.token), let slot = OperationSlot.Pointer.find(told: id).1
    else { return nil }
    return (slot, token.generation)
  }
}
