import InturnCore

/// How a program's values and the library's states are observed.
extension Trail {
  /// Begins to observe; `call` is called with each entry.
  package func observe(
    _ options: ObservationOptions, on delivery: ObserverDelivery,
    entry call: @escaping (TrailEntry<Value>) -> Void
  ) -> ValueObservation {
    var manner = options.manner
    let told: TrailObserver<Value>
    switch delivery.place {
    case .inline:
      told = TrailObserver(call: call)
    case .queue(let queue):
      manner.hasMailbox = true
      told = TrailObserver(call: call, on: queue)
    case .ownQueue(let executor):
      manner.hasMailbox = true
      let (status, made) = TrailObserver<Value>.make(on: executor, call: call)
      guard let made else { fatalError("A queue for the observer cannot be made: \(status)") }
      told = made
    case .scheduled(let schedule):
      manner.hasMailbox = true
      told = TrailObserver(call: call) { trail, id in
        schedule { trail.runMail(id) }
        return true
      }
    }
    guard let (id, _, _) = observe(manner, told) else { return ValueObservation() }
    return ValueObservation(self, id)
  }
}

extension Trail where Value: Sendable {
  /// The present value and each new one.
  package func values(
    buffering policy: AsyncStream<Value>.Continuation.BufferingPolicy
  ) -> AsyncStream<Value> {
    let puller = ValuePuller(self, TrailManner(pulling: policy))
    return AsyncStream { await puller.next()?.new }
  }

  /// The present value and each change with its old value.
  package func changes(
    buffering policy: AsyncStream<ValueChange<Value>>.Continuation.BufferingPolicy
  ) -> AsyncStream<ValueChange<Value>> {
    let puller = ValuePuller(self, TrailManner(pulling: policy))
    return AsyncStream { await puller.next().map { ValueChange($0) } }
  }
}

extension TrailManner {
  /// The manner of a sequence.
  fileprivate init<Element>(
    pulling policy: AsyncStream<Element>.Continuation.BufferingPolicy
  ) {
    self.init()
    initial = true
    hasMailbox = true
    isPulled = true
    switch policy {
    case .bufferingNewest(1): latest = true
    case .bufferingNewest(let count):
      capacity = Self.checked(count)
      overflow = .dropsOldest
    case .bufferingOldest(let count):
      capacity = Self.checked(count)
      overflow = .dropsNewest
    default: break
    }
  }

  private static func checked(_ count: Int) -> Int {
    require(count > 0, "A buffer needs room for one value at least.")
    return count
  }
}
