import Synchronization

/// What one operation of a batch is to do.
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

    /// Of a bare job that has finished.
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
  /// The token's bits, once it has been started; the last attempt's. Stored by who starts it before
  /// that looks whether the batch is stopped, and loaded by who has stopped the batch: sequentially
  /// consistent, unless both take the lane's lock in between.
  let token = Atomic<UInt64>(0)
  /// Stands for the token of one that its lane has taken out before its start.
  static var takenOut: UInt64 { UInt64.max }
  /// With a reference, until the operation has ended; nil for a bare job.
  var slot: OperationSlot.Pointer?
  /// Nil until it has ended. Of most bare jobs the one that all of them share, as a large batch is
  /// small then.
  var end: UnsafeMutablePointer<End>?

  /// The engine's: one that is made at its first use could be left half made by a fork.
  static var finished: UnsafeMutablePointer<End> {
    Engine.current.pointee.batchMemory.finished
  }

  /// Of a bare job that has finished. It never changes.
  static func makeFinished() -> UnsafeMutablePointer<End> {
    let end = UnsafeMutablePointer<End>.allocate(capacity: 1)
    end.initialize(to: .finished)
    return end
  }
}

extension UnsafeMutablePointer<BatchEntry> {
  /// Takes down how it has ended. Its batch is locked.
  func note(_ end: BatchEntry.End) {
    if end.isFinished {
      pointee.end = BatchEntry.finished
      return
    }
    let place = UnsafeMutablePointer<BatchEntry.End>.allocate(capacity: 1)
    place.initialize(to: end)
    pointee.end = place
  }

  /// Destroys its result, with the batch.
  func destroyEnd() {
    guard let end = pointee.end, end != BatchEntry.finished else { return }
    if let destroy = end.pointee.resultDestroy { destroy(end.pointee.end.result) }
    end.deallocate()
  }

  /// The slot of a bare job that runs, with a reference, and which of the slot's operations it is.
  var running: (OperationSlot.Pointer, UInt32?)? {
    let token = Handle(bits: pointee.token.load(ordering: .sequentiallyConsistent))
    guard token.bits != 0, let slot = OperationSlot.Pointer.find(token: token).1
    else { return nil }
    return (slot, token.generation)
  }
}
