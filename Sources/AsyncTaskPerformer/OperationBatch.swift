import Foundation
import Inturn

/// One list of operations that is being executed.
final class OperationBatch<T: Sendable>: @unchecked Sendable {
  // Safe to share: `lock` protects everything that changes.

  typealias Member = AsyncOperationWithCompletion<T>

  /// Protects all variables below. While it is held, no operation, queue or user code is called,
  /// and nothing is released that might call them.
  private let lock = BriefLock()
  @exclusivity(unchecked) private var machine: BatchMachine
  @exclusivity(unchecked) private var lastValue: T?
  /// For each operation: whether it has reported, and whether it has ended.
  @exclusivity(unchecked) private var hasReported: [Bool]
  @exclusivity(unchecked) private var hasEnded: [Bool]
  /// How many operations at the start of the list have all ended.
  @exclusivity(unchecked) private var endedInOrder = 0
  /// In an ordered list: the operation that has failed. It began when those before it had ended,
  /// even if their threads have not reported that yet.
  @exclusivity(unchecked) private var failed = 0
  /// Values in the list's order, for operations whose turn has not come, if anybody wants them.
  @exclusivity(unchecked) private var values: [T?]
  @exclusivity(unchecked) private var isDelivering = false
  @exclusivity(unchecked) private var delivered = 0
  @exclusivity(unchecked) private var result: Result<T, any Error>?
  @exclusivity(unchecked) private var completion: (@Sendable (Result<T, any Error>) -> Void)?

  private let members: [Member]
  private let isOrdered: Bool
  /// The gate at an index opens when the operations up to that index have ended. There are none if
  /// Foundation's queue keeps the order by itself.
  private let gates: [OrderGate]
  private let each: (@Sendable (T) -> Void)?

  /// - Parameters:
  ///   - isOrdered: Whether an operation starts only when the one before it has ended.
  ///   - lastGate: The gate to open when all have ended; nil if no gates are needed.
  ///   - each: Called with each value, in the list's order, one call at a time.
  ///   - completion: Called once, after that, with the result.
  init(
    _ members: [Member], isOrdered: Bool, lastGate: OrderGate?,
    each: (@Sendable (T) -> Void)? = nil,
    completion: @escaping @Sendable (Result<T, any Error>) -> Void
  ) {
    self.members = members
    self.isOrdered = isOrdered
    self.each = each
    self.completion = completion
    // An empty list ends once, too.
    machine = BatchMachine(count: max(1, members.count))
    hasReported = Array(repeating: false, count: members.count)
    hasEnded = hasReported
    values = each == nil ? [] : Array(repeating: nil, count: members.count)
    gates = lastGate.map { gate in members.dropLast().map { OrderGate(after: $0) } + [gate] } ?? []
  }

  /// Makes the operations members of the list, and makes the first one wait for another list.
  func begin(after gate: OrderGate?) {
    for (index, member) in members.enumerated() {
      require(
        member.state == .pending && member.enter(self, index, isOrdered: isOrdered),
        """
        SynchronousOperationQueue: operation \(index + 1) of the list has been started, or is in \
        a list already; each list needs operations of its own
        """)
    }
    if !gates.isEmpty {
      if let gate { members[0].addDependency(gate) }
      for index in members.indices.dropFirst() { members[index].addDependency(gates[index - 1]) }
    }
    for (index, member) in members.enumerated() {
      if !gates.isEmpty {
        // A failure first cancels the rest.
        member.openGates { [self] in if $0.failure == nil { markEnded(index) } }
      }
      member.whenEnded { [self] in ended(index, $0) }
    }
  }

  // MARK: Events

  /// An operation's completion was called.
  func report(_ index: Int, _ value: T?, _ error: (any Error)?) {
    // Released without the lock.
    var value = value
    let isFailure = lock.withLock {
      if hasReported[index] { return false }
      hasReported[index] = true
      if error != nil { return true }
      if value == nil || !machine.reportValue() { return false }
      if !values.isEmpty { values[index] = value }
      swap(&value, &lastValue)
      return false
    }
    withExtendedLifetime(value) {}
    if isFailure, let error { fail(error, at: index) }
  }

  /// Completes the list with an error, unless it has completed; the rest is cancelled. `index`: the
  /// operation with that error, if there is one.
  func fail(_ error: any Error, at index: Int? = nil) {
    let isFirst = lock.withLock {
      guard machine.fail() else { return false }
      if isOrdered, let index { failed = index }
      result = .failure(error)
      return true
    }
    if !isFirst { return }
    // In reverse order, so that no end allows an operation to start that is not cancelled yet.
    for member in members.reversed() { member.cancel() }
    deliver()
  }

  /// It is the turn of a list without operations.
  func complete(with value: T) {
    lock.withLock {
      _ = machine.reportValue()
      if machine.end() == .value { result = .success(value) }
    }
    deliver()
  }

  private func ended(_ index: Int, _ end: OperationEnd) {
    members[index].leaveBatch()
    if let error = end.failure { fail(error, at: index) }
    markEnded(index)
    lock.withLock {
      switch machine.end() {
      case nil: break
      case .value?: result = lastValue.map { .success($0) }
      case .nothing?: result = .failure(SynchronousOperationQueueError.neverExecuted)
      }
    }
    deliver()
  }

  /// Opens the gates that waited for this operation's end only; none if that was done before.
  private func markEnded(_ index: Int) {
    let opened = lock.withLock {
      hasEnded[index] = true
      let before = endedInOrder
      while endedInOrder < hasEnded.count && hasEnded[endedInOrder] { endedInOrder += 1 }
      return before..<endedInOrder
    }
    if !gates.isEmpty {
      for index in opened { gates[index].open() }
    }
  }

  // MARK: Delivery

  private enum Delivery {
    case value(T)
    case end(Result<T, any Error>, @Sendable (Result<T, any Error>) -> Void)
  }

  /// Tells the values whose turn has come, and the end. One thread at a time does so, and also
  /// tells what other threads add meanwhile.
  private func deliver() {
    let isDeliverer = lock.withLock {
      if isDelivering { return false }
      isDelivering = true
      return true
    }
    if !isDeliverer { return }
    while let next = lock.withLock({ nextDeliveryLocked() }) {
      switch next {
      case .value(let value): each?(value)
      case .end(let result, let completion): completion(result)
      }
    }
  }

  private func nextDeliveryLocked() -> Delivery? {
    let turns = max(endedInOrder, failed)
    while completion != nil && !values.isEmpty && delivered < turns {
      let value = values[delivered]
      values[delivered] = nil
      delivered += 1
      if let value { return .value(value) }
    }
    if let result, let completion {
      self.completion = nil
      return .end(result, completion)
    }
    isDelivering = false
    return nil
  }
}

extension OperationEnd {
  /// The error with which it fails a list, if it does.
  fileprivate var failure: (any Error)? {
    switch outcome {
    case .finished, .cancelled: nil
    default: error ?? QueueError.ended(self)
    }
  }
}
