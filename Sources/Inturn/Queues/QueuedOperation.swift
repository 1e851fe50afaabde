import InturnCore

/// One operation that was given to a queue.
///
/// It need not be kept: the operation goes on without it, and keeping it does not keep the
/// operation's closures. All members may be used from any thread.
public class QueuedOperation: @unchecked Sendable {
  // Safe to share: `lock` protects what changes.

  package typealias Work = @Sendable (FinishToken) -> Void

  private struct Closures {
    var work: Work
    var condition: (@Sendable () -> OperationEnd?)?
    var decide: (@Sendable (any Error, Int) -> Bool)?
  }

  /// Whether its work and its handlers are called on the main thread.
  private let isOnMain: Bool

  /// Protects everything below. No function is called, and no closure released, while it is held.
  private let lock = BriefLock()
  @exclusivity(unchecked) private var closures: Closures?
  @exclusivity(unchecked) private var ended: OperationEnd?
  @exclusivity(unchecked) private var box: OutcomeBox?
  @exclusivity(unchecked) private var waiters: [CheckedContinuation<OperationEnd, Never>] = []
  /// Called before the waiters.
  @exclusivity(unchecked) private var batches: [(OperationEnd) -> Void] = []
  @exclusivity(unchecked) private var handle = Handle(bits: 0)
  @exclusivity(unchecked) private var failure: (any Error)?
  /// Created on first use.
  @exclusivity(unchecked) private var made = Observed()

  package init(_ options: OperationOptions, isOnMain: Bool = false, _ work: @escaping Work) {
    self.isOnMain = isOnMain
    closures = Closures(work: work, condition: options.condition, decide: options.retry?.decide)
  }

  /// An operation that another module gives to its queue: see ``isAccepted(as:)``.
  package init() { isOnMain = false }

  deinit {
    if handle.bits != 0 { _ = Engine.release(handle) }
  }

  /// Cancels the operation: a pending one ends at once and its work is never called; a running one
  /// is asked to end, and keeps its place until it ends or its grace time has passed.
  ///
  /// Does nothing when it has ended. Operations that have joined it are not cancelled: the first of
  /// them stands in for it.
  public final func cancel() {
    let handle = lock.withLock { self.handle }
    if handle.bits != 0 { _ = Engine.cancel(handle) }
  }

  /// Its present state. From any thread.
  public final var state: OperationState {
    let (handle, ended) = lock.withLock { (self.handle, self.ended) }
    if ended != nil { return .ended }
    return OperationState(Engine.state(of: handle).1)
  }

  /// What keeps the operation from ending at this moment, however long that has been so: the chain
  /// to the cause, in one line. Nil when it has ended. From any thread.
  public final func why() -> Report? {
    let (handle, ended) = lock.withLock { (self.handle, self.ended) }
    return ended == nil ? Engine.reason(for: handle).1.map(Report.init) : nil
  }

  /// How the operation ended; nil while it has not.
  public final var end: OperationEnd? { lock.withLock { ended } }

  /// Waits until the operation has ended, without blocking a thread, and returns how.
  ///
  /// Cancelling the waiting task does not end the wait.
  ///
  /// **Deadlock.** Inside an operation that has to end before this one can, it stops the program
  /// with a message that names the queues. Await ``QueuedResult/value`` there, which throws.
  @_disfavoredOverload
  public final func waitForEnd() async -> OperationEnd { await waitForEnd(at: .unknown) }

  /// As ``waitForEnd()``; reports name the line.
  ///
  /// - Parameters:
  ///   - fileID: Where it waits.
  ///   - line: The same.
  ///   - call: Leave it out: only a call states its type, so the bare method name refers to the
  ///     other overload.
  public final func waitForEnd<Call>(
    fileID: StaticString = #fileID, line: UInt = #line, call: Call = ()
  ) async -> OperationEnd { await waitForEnd(at: Site(fileID, line)) }

  private func waitForEnd(at site: Site) async -> OperationEnd {
    do throws(QueueError) {
      return try await endUnlessDeadlock(at: site)
    } catch {
      fatalError("\(error) Await `value` there, which throws.")
    }
  }

  /// The same; throws when the current task is inside an operation that has to end before this one
  /// can.
  final func endUnlessDeadlock(at site: Site) async throws(QueueError) -> OperationEnd {
    let entry = try Frame.enter(at: site) { [self] in
      [.operation(lock.withLock { handle })]
    }
    defer { WaitGraph.leave(entry) }
    return await withCheckedContinuation { continuation in
      let (ended, handle) = lock.withLock {
        if self.ended == nil { waiters.append(continuation) }
        return (self.ended, self.handle)
      }
      if let ended { return continuation.resume(returning: ended) }
      _ = Engine.setAwaited(handle)
    }
  }

  /// The progress that the work has last set with its token.
  public final var progress: OperationProgress {
    OperationProgress(Engine.progress(of: lock.withLock { handle }).1)
  }

  // MARK: What the module asks

  /// Its queue; nil if that has refused it.
  final var queue: Handle? { Engine.queue(of: lock.withLock { handle }) }

  /// Calls a function with the end, before anybody else learns of it; at once if it has ended.
  func whenEnded(_ function: @escaping (OperationEnd) -> Void) {
    let ended = lock.withLock { () -> OperationEnd? in
      if self.ended == nil { batches.append(function) }
      return self.ended
    }
    if let ended { function(ended) }
  }

  /// An observable state, which `make` creates on first use, given the operation's handle.
  func observed<T: Sendable>(
    _ place: WritableKeyPath<Observed, ObservedState<T>?>, _ make: (Handle) -> ObservedState<T>
  ) -> ObservedState<T> {
    let (first, handle) = lock.withLock { (made[keyPath: place], self.handle) }
    if let first { return first }
    let new = make(handle)
    return lock.withLock {
      // Another thread may have been first; then this state is dropped.
      if let first = made[keyPath: place] { return first }
      made[keyPath: place] = new
      return new
    }
  }

  /// The value or error that it has ended with.
  var outcomeBox: OutcomeBox? { lock.withLock { box } }

  /// Notes the failure of an attempt, for the function that decides whether to try again.
  func note(failure new: any Error) {
    let old = lock.withLock {
      defer { failure = new }
      return failure
    }
    withExtendedLifetime(old) {}
  }

  /// Gives the operation to a queue, once. If it is refused, it ends as refused, which is reported.
  package func enqueue(
    on queue: QueueEngine, _ options: OperationOptions, _ fileID: StaticString, _ line: UInt
  ) {
    let site = Site(fileID, line)
    let label = options.label(at: site)
    guard let error = enqueue(on: queue.handle, options, label: label, at: site) else { return }
    Report.refused(queue: queue.label, operation: label, at: site, error)
    hasEnded(OperationEnd(refusal: error), nil)
  }

  private func enqueue(
    on queue: Handle, _ options: OperationOptions, label: String?, at site: Site
  ) -> QueueError? {
    guard let after = Self.handles(for: options) else {
      hasEnded(.cancelled(.dependency), nil)
      return nil
    }
    // One reference as the work's context, and one as the end callback's.
    let context = Unmanaged.passRetained(self).toOpaque()
    _ = Unmanaged.passRetained(self)
    let (status, handle) = options.withEngineOptions(label: label) { core in
      if options.condition != nil { core.condition = Self.askCondition }
      core.retry = options.retry?.enginePolicy
      if options.retry?.decide != nil { core.retry?.decide = Self.askWhetherWorthIt }
      core.endCallback = EndCallback(
        function: {},
        call: { _, context, end in
          let (end, box) = OutcomeBox.open(end)
          Self.from(context).hasEnded(end, box)
        },
        context: context, destroy: Self.letGo)
      return after.withUnsafeBufferPointer { handles in
        core.after = handles
        return Engine.enqueue(
          queue, at: site, options: core, work: Self.call, context: context, destroy: Self.forget,
          wantsHandle: true)
      }
    }
    if status == .ok {
      lock.withLock { self.handle = handle }
      return nil
    }
    Self.forget(context)
    Self.letGo(context)
    return QueueError(status)
  }

  /// The handles of the operations that these options depend on; nil when one that has to finish
  /// was refused by its queue.
  package static func handles(for options: OperationOptions) -> [Handle]? {
    var after: [Handle] = []
    for dependency in options.after {
      let (handle, ended) = dependency.lock.withLock { (dependency.handle, dependency.ended) }
      if handle.bits != 0 {
        after.append(handle)
      } else if ended != nil && options.needsFinished {
        return nil
      }
    }
    return after
  }

  /// A queue has accepted the operation, which owns the handle from now on.
  package func isAccepted(as handle: Handle) {
    lock.withLock { self.handle = handle }
  }

  // MARK: What the engine calls

  private static func from(_ context: UnsafeMutableRawPointer?) -> QueuedOperation {
    Unmanaged<QueuedOperation>.fromOpaque(context!).takeUnretainedValue()
  }

  private static let call: RawWork = { context, bits in
    let operation = from(context)
    let token = FinishToken(Handle(bits: bits), of: operation)
    operation.lock.withLock { operation.closures?.work }?(token)
  }

  private static let askCondition: RawCondition = { context in
    let operation = from(context)
    guard let end = operation.lock.withLock({ operation.closures?.condition })?() else { return 0 }
    return end.skips ? 1 : 2
  }

  private static let askWhetherWorthIt: RetryPolicy.RawDecide = { context, code, attempts in
    let operation = from(context)
    let (decide, failure) = operation.lock.withLock {
      (operation.closures?.decide, operation.failure)
    }
    let isTooLate = code == Status.timedOut.rawValue
    let error = isTooLate ? QueueError.ended(.timedOut(.maxRun)) : failure
    guard let decide, let error else { return true }
    return decide(error, Int(attempts))
  }

  /// The engine no longer uses the closures, so they are released, even while somebody holds the
  /// operation.
  private static let forget: RawDestroy = { context in
    let operation = Unmanaged<QueuedOperation>.fromOpaque(context!).takeRetainedValue()
    let closures = operation.lock.withLock {
      defer { operation.closures = nil }
      return operation.closures
    }
    withExtendedLifetime(closures) {}
  }

  private static let letGo: RawDestroy = {
    Unmanaged<QueuedOperation>.fromOpaque($0!).release()
  }

  package func hasEnded(_ end: OperationEnd, _ new: OutcomeBox?) {
    let (waiters, batches, failure) = lock.withLock {
      ended = end
      box = new
      defer {
        self.waiters = []
        self.batches = []
        self.failure = nil
      }
      return (self.waiters, self.batches, self.failure)
    }
    for batch in batches { batch(end) }
    for waiter in waiters { waiter.resume(returning: end) }
    withExtendedLifetime(failure) {}
  }
}

/// What its tokens call.
extension QueuedOperation: FinishTarget {
  package final func finish(_ token: Handle, with box: OutcomeBox?) -> Bool {
    guard let context = box?.asContext else { return Engine.end(token, as: .finished) == .ok }
    let drop = OutcomeBox.drop
    if Engine.end(token, as: .finished, result: context, destroy: drop) == .ok { return true }
    OutcomeBox.drop(context)
    return false
  }

  package final func fail(_ token: Handle, _ error: any Error) -> Bool {
    note(failure: error)
    let context = ErrorBox(error).asContext
    let drop = OutcomeBox.drop
    let status = Engine.end(token, as: .failed, code: 1, result: context, destroy: drop)
    if status != .ok { drop(context) }
    return status == .ok
  }

  package final func giveIn(_ token: Handle) -> Bool { Engine.end(token, as: .cancelled) == .ok }
  package final func yield(_ token: Handle) -> Bool { Engine.yield(token) == .ok }
  package final func abandon(_ token: Handle) { _ = Engine.abandon(token) }

  package final func isAskedToEnd(_ token: Handle) -> Bool {
    let (status, isAsked) = Engine.isCancelled(token)
    // What has an end that its token did not give has been cut off.
    return isAsked || status == .alreadyFinished
  }

  package final func onCancel(_ token: FinishToken, _ handler: @escaping @Sendable () -> Void) {
    let handler = TokenHandler(handler)
    let context = handler.context
    let status = Engine.setHandler(
      of: .cancel, token.token, TokenHandler.call, context: context, destroy: TokenHandler.drop)
    if status == .ok { return }
    TokenHandler.drop(context)
    // It has been cut off, so a handler cannot be set any more.
    if isOnMain { Task { @MainActor in handler.body() } } else { handler.body() }
  }

  package final func onPreempt(_ token: Handle, _ handler: @escaping @Sendable () -> Void) {
    let context = TokenHandler(handler).context
    let status = Engine.setHandler(
      of: .preempt, token, TokenHandler.call, context: context, destroy: TokenHandler.drop)
    if status != .ok { TokenHandler.drop(context) }
  }

  package final func setProgress(_ progress: InturnCore.Progress, of token: Handle) -> Bool {
    Engine.setProgress(progress, of: token) == .ok
  }
}

/// A handler in the engine's form.
private final class TokenHandler: Sendable {
  let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  /// A context that holds a reference, which `drop` releases.
  var context: UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

  static let call: RawWork = { context, _ in
    Unmanaged<TokenHandler>.fromOpaque(context!).takeUnretainedValue().body()
  }

  static let drop: RawDestroy = { Unmanaged<TokenHandler>.fromOpaque($0!).release() }
}
