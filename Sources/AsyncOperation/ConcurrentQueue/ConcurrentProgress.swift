/// How far an operation has come, in units of its own.
public struct ConcurrentProgress: Sendable, Equatable {
  public var completed: Int64 = 0
  /// Zero while it is not known.
  public var total: Int64 = 0

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

  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(operation: operation, ticks: ticks.makeAsyncIterator())
  }

  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let operation: ConcurrentOperation
    fileprivate var ticks: AsyncStream<Void>.Iterator
    private var isFirst = true

    fileprivate init(operation: ConcurrentOperation, ticks: AsyncStream<Void>.Iterator) {
      self.operation = operation
      self.ticks = ticks
    }

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
