/// How far an operation has come, in units of its own.
public struct ConcurrentProgress: Sendable, Equatable {
  /// How many units are done.
  public var completed: Int64 = 0
  /// Zero while it is not known.
  public var total: Int64 = 0

  /// Nothing is done, and the total is not known.
  public init() {}

  /// From 0 to 1; nil while the total is not known.
  public var fraction: Double? { total == 0 ? nil : Double(completed) / Double(total) }
}

/// An operation's progress: as it is, and after each change; see
/// ``ConcurrentOperation/progressUpdates``.
public struct ConcurrentProgressUpdates: AsyncSequence, Sendable {
  public typealias Element = ConcurrentProgress
  public typealias Failure = Never

  private let operation: ConcurrentOperation
  private let ticks: AsyncStream<Void>

  init(_ operation: ConcurrentOperation, _ ticks: AsyncStream<Void>) {
    self.operation = operation
    self.ticks = ticks
  }

  /// Begins with the progress as it is then.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(operation: operation, ticks: ticks.makeAsyncIterator())
  }

  /// Gives the progress as it is, and then after each change.
  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let operation: ConcurrentOperation
    fileprivate var ticks: AsyncStream<Void>.Iterator
    private var isFirst = true

    fileprivate init(operation: ConcurrentOperation, ticks: AsyncStream<Void>.Iterator) {
      self.operation = operation
      self.ticks = ticks
    }

    /// Waits for the next change; nil when the operation has ended, or the task was cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async -> ConcurrentProgress? {
      if isFirst {
        isFirst = false
        return operation.progress
      }
      guard await ticks.next(isolation: actor) != nil else { return nil }
      return operation.progress
    }
  }
}
