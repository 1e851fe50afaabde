import InturnCore

/// Why an interaction gave no value.
public struct InteractionError: Error, Equatable {
  /// How it ended instead.
  public let end: Interaction.End
}

extension InteractionQueue {
  /// Presents an interaction in its turn, and gives what it gives.
  ///
  ///     let granted = try await queue.present { await askForLocation() }
  ///
  /// The interaction lasts as long as the closure, suspensions included. Cancelling the task that
  /// waits cancels the interaction, and cancelling the interaction cancels the closure's task; so
  /// does a deadline.
  ///
  /// - Throws: What the closure throws; `CancellationError` when the waiting task was cancelled
  ///   before the closure began; ``InteractionError`` when the interaction ended without having
  ///   been presented to its end. An interaction that joins another one gets no value of its own:
  ///   it throws the ``InteractionError`` with the end.
  @MainActor
  public func present<Value: Sendable>(
    _ options: InteractionOptions = InteractionOptions(), fileID: StaticString = #fileID,
    line: UInt = #line, _ body: @escaping @MainActor () async throws -> Value
  ) async throws -> Value {
    let answer = Answer<Value>()
    let interaction = addPresentation(options, fileID: fileID, line: line) { presentation in
      let task = Task { @MainActor in
        do {
          answer.set(.success(try await body()))
        } catch {
          answer.set(.failure(error))
        }
        if !presentation.isCancelled || answer.isSuccess {
          presentation.finish()
        } else {
          presentation.cancel()
        }
      }
      presentation.onCancel { _ in task.cancel() }
    }
    let end = await withTaskCancellationHandler {
      await interaction.end
    } onCancel: {
      interaction.cancel()
    }
    if let result = answer.get() { return try result.get() }
    if end == .cancelled(.request) && Task.isCancelled { throw CancellationError() }
    throw InteractionError(end: end)
  }
}

/// What an interaction's closure has given.
private final class Answer<Value: Sendable>: Sendable {
  /// Protects the result, which is set once.
  private let result = Locked<Result<Value, any Error>?>(nil)

  func set(_ new: Result<Value, any Error>) { result.withLock { $0 = new } }
  func get() -> Result<Value, any Error>? { result.withLock { $0 } }

  var isSuccess: Bool {
    guard case .success = get() else { return false }
    return true
  }
}
