import ConcurrentKVO
import InturnCore

/// One operation that a ``ConcurrentQueue`` was given.
///
/// It need not be kept: the operation goes on without it.
public class ConcurrentOperation: @unchecked Sendable {
  // Safe to share: `lock` protects what changes.

  /// How far an operation has come. One that is retried is pending again between its attempts.
  public enum State: Sendable { case pending, running, ended }

  typealias Work = @Sendable (ConcurrentToken) -> Void

  private struct Closures {
    var work: Work
    var condition: (@Sendable () -> ConcurrentOperationOptions.Verdict)?
    var isWorthIt: (@Sendable (any Error, Int) -> Bool)?
  }

  /// Protects everything below. Nothing is called, and no closure let go of, while it is held.
  private let lock = BriefLock()
  @exclusivity(unchecked) private var closures: Closures?
  @exclusivity(unchecked) private var ended: End?
  @exclusivity(unchecked) private var box: OutcomeBox?
  @exclusivity(unchecked) private var waiters: [CheckedContinuation<End, Never>] = []
  @exclusivity(unchecked) private var handle = Handle(bits: 0)
  @exclusivity(unchecked) private var queue = Handle(bits: 0)
  @exclusivity(unchecked) private var failure: (any Error)?
  /// What has to end before its start, until that.
  @exclusivity(unchecked) private var dependencies: [ConcurrentOperation] = []
  /// Made when it is first asked for.
  @exclusivity(unchecked) private var made = Observed()
  /// Made for the first who reads it: says that the progress has changed.
  @exclusivity(unchecked) private var progressTicks: Broadcast<Void>?

  init(_ options: ConcurrentOperationOptions, _ work: @escaping Work) {
    closures = Closures(
      work: work, condition: options.condition, isWorthIt: options.retry?.isWorthIt)
  }

  deinit {
    if handle.bits != 0 { _ = Engine.release(handle) }
  }

  /// Cancels the operation: a pending one ends at once and its work is never called; a running one
  /// is asked to end, and keeps its place until it ends itself or its grace time has passed.
  public final func cancel() {
    let handle = lock.withLock { self.handle }
    if handle.bits != 0 { _ = Engine.cancel(handle) }
  }

  /// How far it has come just now. From any thread.
  public final var state: State {
    let (handle, ended) = lock.withLock { (self.handle, self.ended) }
    if ended != nil { return .ended }
    return State(Engine.state(of: handle).1)
  }

  /// How the operation ended; waits until it has, without blocking a thread.
  ///
  /// The wait is not affected by the cancelling of the task that waits.
  ///
  /// **Deadlock.** Inside an operation that this one could not end before, as for
  /// ``ConcurrentResultOperation/value``, it stops the program, with a message that names the queues.
  public final var end: End {
    get async {
      do throws(ConcurrentQueue.DeadlockError) {
        return try await endUnlessDeadlock
      } catch {
        fatalError("\(error)")
      }
    }
  }

  /// The same; throws when the current task is inside an operation that this one could not end before.
  final var endUnlessDeadlock: End {
    get async throws(ConcurrentQueue.DeadlockError) {
      let entry = try ConcurrentFrame.enter { [self] in needs(&$0) }
      defer { TaskWaitGraph.leave(entry) }
      return await withCheckedContinuation { continuation in
        let ended = lock.withLock { () -> End? in
          if self.ended == nil { waiters.append(continuation) }
          return self.ended
        }
        if let ended { continuation.resume(returning: ended) }
      }
    }
  }

  /// How the operation ended; nil while it has not.
  public final var endIfAny: End? { lock.withLock { ended } }

  // MARK: Progress

  /// How far the work has come, as its token has said last.
  public final var progress: ConcurrentProgress {
    ConcurrentProgress(Engine.progress(of: lock.withLock { handle }).1)
  }

  /// How far the work has come: at once, after each change, and at the end.
  ///
  /// Of changes that a slow reader has not come to, it gets the last. Each use gives a sequence of
  /// its own, which ends when the operation has ended.
  public final var progressUpdates: ConcurrentProgressUpdates {
    let (ticks, isOver) = lock.withLock {
      let ticks = progressTicks ?? Broadcast<Void>()
      progressTicks = ticks
      return (ticks, ended != nil)
    }
    let updates = ConcurrentProgressUpdates(self, ticks.stream(keeping: .bufferingNewest(1)))
    if isOver { ticks.finish() }
    return updates
  }

  func setProgress(_ new: Progress, of token: Handle) -> Bool {
    if Engine.setProgress(new, of: token) != .ok { return false }
    lock.withLock { progressTicks }?.send(())
    return true
  }

  // MARK: What the module asks

  /// What is observed of it, which `make` makes, of its handle, when it is first asked for.
  func observed<T: Sendable>(
    _ place: WritableKeyPath<Observed, ObservedState<T>?>, _ make: (Handle) -> ObservedState<T>
  ) -> ObservedState<T> {
    let (first, handle) = lock.withLock { (made[keyPath: place], self.handle) }
    if let first { return first }
    let new = make(handle)
    return lock.withLock {
      // Another thread may have been first; then this one goes.
      if let first = made[keyPath: place] { return first }
      made[keyPath: place] = new
      return new
    }
  }

  func runs(on queue: Handle) -> Bool {
    lock.withLock { ended == nil && self.queue == queue }
  }

  /// What the operation is as long as it keeps its place. The engine knows of its end before it has
  /// told it.
  var holder: TaskWaitGraph.Holder? {
    let (hasEnded, queue, handle) = lock.withLock { (ended != nil, self.queue, self.handle) }
    if hasEnded || (handle.bits != 0 && Engine.state(of: handle).1 == .ended) { return nil }
    return TaskWaitGraph.Holder(self, of: queue)
  }

  /// Without what it cannot end: before its start, a place, and what it comes after. It looks at all
  /// operations that this one comes after, and keeps them in `kept`.
  func needs(_ kept: inout [AnyObject]) -> [TaskWaitGraph.Need] {
    var needs: [TaskWaitGraph.Need] = []
    var seen: Set<ObjectIdentifier> = [ObjectIdentifier(self)]
    var open = [self]
    while let next = open.popLast() {
      kept.append(next)
      let (hasEnded, queue, handle, dependencies) = next.lock.withLock {
        (next.ended != nil, next.queue, next.handle, next.dependencies)
      }
      if hasEnded { continue }
      needs.append(.end(of: TaskWaitGraph.Holder(next, of: queue)))
      guard handle.bits != 0, Engine.state(of: handle).1 == .pending else { continue }
      needs.append(.place(in: queue, outOf: Engine.places(for: handle)))
      open += dependencies.filter { seen.insert(ObjectIdentifier($0)).inserted }
    }
    return needs
  }

  /// What it has ended with, or failed with.
  var outcomeBox: OutcomeBox? { lock.withLock { box } }

  /// The failure of an attempt, for who decides whether it is worth another one.
  func note(failure new: any Error) {
    let old = lock.withLock {
      defer { failure = new }
      return failure
    }
    withExtendedLifetime(old) {}
  }

  func enqueue(
    on queue: Handle, _ options: ConcurrentOperationOptions, _ fileID: StaticString, _ line: UInt
  ) {
    var core = options.engineOptions
    var after: [Handle] = []
    for dependency in options.dependencies {
      let (handle, ended) = dependency.lock.withLock { (dependency.handle, dependency.ended) }
      if handle.bits != 0 {
        after.append(handle)
      } else if ended != nil && core.needsFinished {
        // It was refused by its queue, and has ended as cancelled.
        return hasEnded(.cancelled(.dependency), nil)
      }
    }
    // One reference as the work's context, one as the end's.
    let context = Unmanaged.passRetained(self).toOpaque()
    _ = Unmanaged.passRetained(self)
    core.endCallback = EndCallback(
      function: {}, call: { _, context, end in Self.from(context).hasEnded(end) },
      context: context, destroy: Self.letGo)
    lock.withLock {
      self.queue = queue
      dependencies = options.dependencies
    }
    let place = "\(fileID):\(line)"
    let label = options.name.map { "\($0), \(place)" } ?? place
    let (status, handle) = label.withCString { text in
      core.label = text
      return after.withUnsafeBufferPointer { handles in
        core.after = handles
        return Engine.enqueue(
          queue, options: core, work: Self.call, context: context, destroy: Self.forget,
          wantsHandle: true)
      }
    }
    if status == .ok { return lock.withLock { self.handle = handle } }
    Self.forget(context)
    Self.letGo(context)
    hasEnded(.cancelled(End.Cause(refusal: status)), nil)
  }

  // MARK: What the engine calls

  private static func from(_ context: UnsafeMutableRawPointer?) -> ConcurrentOperation {
    Unmanaged<ConcurrentOperation>.fromOpaque(context!).takeUnretainedValue()
  }

  private static let call: RawWork = { context, bits in
    let operation = from(context)
    let token = ConcurrentToken(Handle(bits: bits), of: operation)
    let (work, dependencies) = operation.lock.withLock {
      defer { operation.dependencies = [] }
      return (operation.closures?.work, operation.dependencies)
    }
    withExtendedLifetime(dependencies) {}
    work?(token)
  }

  static let askCondition: RawCondition = { context in
    let operation = from(context)
    switch operation.lock.withLock({ operation.closures?.condition })?() ?? .start {
    case .start: return 0
    case .skip: return 1
    case .giveUp: return 2
    }
  }

  static let askWhetherWorthIt: RetryPolicy.RawDecide = { context, _, attempts in
    let operation = from(context)
    let (isWorthIt, failure) = operation.lock.withLock {
      (operation.closures?.isWorthIt, operation.failure)
    }
    guard let isWorthIt, let failure else { return true }
    return isWorthIt(failure, Int(attempts))
  }

  /// The engine does not use the closures any more: they go, whoever holds the operation.
  private static let forget: RawDestroy = { context in
    let operation = Unmanaged<ConcurrentOperation>.fromOpaque(context!).takeRetainedValue()
    let closures = operation.lock.withLock {
      defer { operation.closures = nil }
      return operation.closures
    }
    withExtendedLifetime(closures) {}
  }

  private static let letGo: RawDestroy = {
    Unmanaged<ConcurrentOperation>.fromOpaque($0!).release()
  }

  private func hasEnded(_ end: OperationEnd) {
    var box: OutcomeBox?
    if end.outcome == .finished || end.outcome == .failed, let result = end.result {
      box = Unmanaged<OutcomeBox>.fromOpaque(result).takeUnretainedValue()
    }
    hasEnded(End(end, box), box)
  }

  private func hasEnded(_ end: End, _ new: OutcomeBox?) {
    let (waiters, ticks, failure, dependencies) = lock.withLock {
      ended = end
      box = new
      defer {
        self.waiters = []
        self.failure = nil
        self.dependencies = []
        progressTicks = nil
      }
      return (self.waiters, progressTicks, self.failure, self.dependencies)
    }
    for waiter in waiters { waiter.resume(returning: end) }
    ticks?.send(())
    ticks?.finish()
    withExtendedLifetime((failure, dependencies)) {}
  }
}
