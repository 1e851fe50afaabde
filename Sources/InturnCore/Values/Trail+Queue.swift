/// Observers that are called on a queue.
extension TrailObserver {
  /// A post that enqueues an operation which empties the mailbox. If that operation is cancelled,
  /// another one is enqueued.
  static func post(on queue: Handle) -> Post {
    { trail, id in
      let call = QueuedCall(
        of: trail, work: { trail.runMail(id) }, onLoss: { trail.postAgain(id) })
      return call.enqueue(on: queue) == .ok
    }
  }

  /// An observer that is called on an executor, through a queue of its own. Nil, with a status,
  /// when that cannot be created.
  package static func make(
    on executor: Handle, call: @escaping Call
  ) -> (Status, TrailObserver?) {
    var options = QueueOptions(kind: .fifo)
    // So that reports say what waits there.
    let label: StaticString = "observer"
    options.label = UnsafeRawPointer(label.utf8Start).assumingMemoryBound(to: CChar.self)
    let (status, queue) = Engine.createQueue(
      options, executor: executor, clock: Handle(bits: 0))
    guard status == .ok else { return (status, nil) }
    return (.ok, TrailObserver(call: call, on: queue, ownsQueue: true))
  }
}

/// A function as an operation's context.
package final class QueuedCall {
  /// The value whose change it tells; a thread may wait until it is told.
  private let trail: TrailBase?
  private let work: () -> Void
  private let onLoss: () -> Void
  /// Whether its loss need not be reported. Changed before it is enqueued and by the operation,
  /// which is then over; read when it is released.
  private var isDone = false

  /// `onLoss` is called if the work was accepted and will never be called.
  package init(
    of trail: TrailBase? = nil, work: @escaping () -> Void, onLoss: @escaping () -> Void = {}
  ) {
    self.trail = trail
    self.work = work
    self.onLoss = onLoss
  }

  /// Enqueues it as an operation that ends when its work returns.
  package func enqueue(on queue: Handle) -> Status {
    let context = Unmanaged.passRetained(self)
    let status = Engine.enqueue(
      queue,
      work: { context, token in
        Unmanaged<QueuedCall>.fromOpaque(context!)._withUnsafeGuaranteedRef {
          $0.isDone = true
          $0.work()
        }
        _ = Engine.end(Handle(bits: token), as: .finished)
      }, context: context.toOpaque(), destroy: Self.destroy, isOwed: true)
    if status != .ok {
      isDone = true
      context.release()
    }
    return status
  }

  private static let destroy: RawDestroy = { Unmanaged<QueuedCall>.fromOpaque($0!).release() }

  /// Whether somebody waits for what a job tells. The caller has the lane's lock, under which the job
  /// does not go.
  static func isAwaited(_ function: RawDestroy?, _ context: UnsafeMutableRawPointer?) -> Bool {
    of(function, context)?._withUnsafeGuaranteedRef { call in
      call.trail.map { trail in trail.lock.withLock { trail.isAwaited } } ?? false
    } ?? false
  }

  /// Whether a job tells changes of this value. The caller has the lane's lock.
  static func tells(_ trail: TrailBase, _ job: Job) -> Bool {
    of(job.destroy, job.context)?._withUnsafeGuaranteedRef { $0.trail === trail } ?? false
  }

  private static func of(
    _ function: RawDestroy?, _ context: UnsafeMutableRawPointer?
  ) -> Unmanaged<QueuedCall>? {
    guard let function, let context,
      unsafeBitCast(function, to: UInt.self) == unsafeBitCast(destroy, to: UInt.self)
    else { return nil }
    return .fromOpaque(context)
  }

  deinit { if !isDone { onLoss() } }
}
