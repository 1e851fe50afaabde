import InturnCore

/// The value as it is, and each change from then on, as an asynchronous sequence.
///
/// Each iterator begins with the value as it is then, and ends when the value is gone or the task
/// is cancelled. One iterator is for one task.
public struct ValueChanges<T: Sendable>: AsyncSequence, Sendable {
  public typealias Element = ValueChange<T>
  public typealias Failure = Never

  let trail: Trail<T>
  let buffering: ValueBuffering

  public func makeAsyncIterator() -> Iterator { Iterator(puller: ValuePuller(trail, buffering)) }

  public struct Iterator: AsyncIteratorProtocol {
    let puller: ValuePuller<T>

    public func next() async -> ValueChange<T>? { await puller.next().map { ValueChange($0) } }

    public func next(isolation actor: isolated (any Actor)?) async -> ValueChange<T>? {
      await puller.next(isolation: actor).map { ValueChange($0) }
    }
  }
}

/// The value as it is, and each new one from then on; see ``ValueChanges``.
public struct Values<T: Sendable>: AsyncSequence, Sendable {
  public typealias Element = T
  public typealias Failure = Never

  let trail: Trail<T>
  let buffering: ValueBuffering

  public func makeAsyncIterator() -> Iterator { Iterator(puller: ValuePuller(trail, buffering)) }

  public struct Iterator: AsyncIteratorProtocol {
    let puller: ValuePuller<T>

    public func next() async -> T? { await puller.next()?.new }

    public func next(isolation actor: isolated (any Actor)?) async -> T? {
      await puller.next(isolation: actor)?.new
    }
  }
}

extension ConcurrentKVO where T: Sendable {
  /// The value as it is, and each new one.
  public func values(buffering: ValueBuffering = .unbounded) -> Values<T> {
    Values(trail: trail, buffering: buffering)
  }

  /// The value as it is, and each change with its old value.
  public func changes(buffering: ValueBuffering = .unbounded) -> ValueChanges<T> {
    ValueChanges(trail: trail, buffering: buffering)
  }
}
