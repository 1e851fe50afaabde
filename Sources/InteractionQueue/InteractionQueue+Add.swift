import Inturn

extension InteractionQueue {
  /// Adds an interaction that marks itself as finished with a callback.
  ///
  /// Put the call into a `defer` block, before a weak `self` is checked. If the callback is lost,
  /// the interaction ends as abandoned, a report names the line that added it, and the queue goes
  /// on.
  ///
  /// - Parameters:
  ///   - block: Called on the main thread, in the interaction's turn.
  ///   - fileID: Where it is added, for reports and events.
  ///   - line: The same.
  /// - Returns: The interaction, to cancel it or wait for its end. It need not be kept. If the
  ///   queue has refused it, it has ended as `OperationEnd.Outcome.refused` already, which is
  ///   reported.
  @discardableResult
  public func add(
    _ block: @escaping Block, fileID: StaticString = #fileID, line: UInt = #line
  ) -> QueuedOperation {
    enqueue(OperationOptions(), fileID: fileID, line: line) { token in
      block { _ = token.finish() }
    }
  }

  /// Adds an interaction that can find out more than when to begin: that it was cancelled, or that
  /// an urgent one wants its place.
  ///
  /// - Parameters:
  ///   - options: How it is presented. Its condition is called on the main thread.
  ///   - fileID: Where it is added, for reports and events.
  ///   - line: The same.
  ///   - body: Called on the main thread, in the interaction's turn; called again, with another
  ///     token, after it has given way. It keeps its parameter for as long as the interaction
  ///     lasts.
  /// - Returns: As ``add(_:fileID:line:)``.
  @discardableResult
  public func enqueue(
    _ options: OperationOptions = OperationOptions(), fileID: StaticString = #fileID,
    line: UInt = #line, _ body: @escaping @MainActor (FinishToken) -> Void
  ) -> QueuedOperation {
    var options = options
    // An interaction that is no longer visible must not hold others up.
    options.freesPlaceAtMaxRun = true
    let interaction = QueuedOperation(options, isOnMain: true) { token in
      MainActor.assumeIsolated { body(token) }
    }
    interaction.enqueue(on: engine, options, fileID, line)
    return interaction
  }

  /// Presents an interaction in its turn, and returns its value. It is added before the caller
  /// suspends, so tasks of one actor are presented in the order of their calls.
  ///
  ///     let granted = try await queue.present { await askForLocation() }
  ///
  /// The interaction lasts as long as the closure, suspensions included. Cancelling the waiting
  /// task cancels the interaction, and cancelling the interaction cancels the closure's task; so
  /// does a deadline. The closure does not see the caller's task-local values.
  ///
  /// - Parameters:
  ///   - options: How it is presented.
  ///   - fileID: Where it is added, for reports and events.
  ///   - line: The same.
  ///   - body: Runs on the main actor.
  /// - Throws: What the closure throws; `CancellationError` when the waiting task was cancelled
  ///   before the closure began or the closure gave in; the `QueueError` that refused it, or
  ///   `QueueError.ended` when the interaction ended otherwise than by its closure. One that
  ///   joins another one gets that one's value.
  public nonisolated(nonsending) func present<Value: Sendable>(
    _ options: OperationOptions = OperationOptions(), fileID: StaticString = #fileID,
    line: UInt = #line, _ body: @escaping @MainActor () async throws -> Value
  ) async throws -> Value {
    var options = options
    options.freesPlaceAtMaxRun = true
    return try await engine.run(options, isOnMain: true, fileID, line) { try await body() }
  }
}
