import AsyncQueue
import Synchronization
import TestSupport
import Testing

/// Opens once; a wait has a limit, and says what it waited for when that passes.
final class Gate: Sendable {
  private struct State {
    var isOpen = false
    var waiters: [Int: CheckedContinuation<Bool, Never>] = [:]
    var next = 0
  }

  private let state = Protected(State())

  func open() {
    let waiters = state.withLock { state in
      state.isOpen = true
      defer { state.waiters = [:] }
      return Array(state.waiters.values)
    }
    for waiter in waiters { waiter.resume(returning: true) }
  }

  func wait(
    for what: String, sourceLocation: SourceLocation = #_sourceLocation
  ) async {
    let id = state.withLock { state in
      state.next += 1
      return state.next
    }
    let limit = Task.detached {
      try await Task.sleep(for: .seconds(30))
      self.state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: false)
    }
    let isOpen = await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiters[id] = continuation }
        return state.isOpen
      }
      if isOpen { continuation.resume(returning: true) }
    }
    limit.cancel()
    if !isOpen { Issue.record("waited in vain for \(what)", sourceLocation: sourceLocation) }
  }
}

/// A value that is set later.
final class Box<Value: Sendable>: Sendable {
  private let content = Protected<Value?>(nil)
  private let isFull = Gate()

  func fill(_ value: Value) {
    content.withLock { $0 = value }
    isFull.open()
  }

  func wait(for what: String) async -> Value {
    await isFull.wait(for: what)
    return content.withLock { $0! }
  }
}

/// Waits until a condition holds, which others make true without a gate.
func eventually(
  _ what: String, sourceLocation: SourceLocation = #_sourceLocation,
  _ condition: @Sendable () async -> Bool
) async {
  if await comesTrue(within: 30, condition) { return }
  Issue.record("waited in vain for: \(what)", sourceLocation: sourceLocation)
}

/// Runs each job where it is enqueued: a task that prefers this executor runs to its first wait when it
/// is created.
final class InPlaceExecutor: TaskExecutor {
  func enqueue(_ job: consuming ExecutorJob) {
    job.runSynchronously(on: asUnownedTaskExecutor())
  }
}

/// Keeps jobs until it is told to run them: a task that prefers this executor is resumed but waits.
final class PatientExecutor: TaskExecutor {
  private let jobs = Log<UnownedJob>()

  func enqueue(_ job: consuming ExecutorJob) { jobs.add(UnownedJob(job)) }

  /// How many jobs it has received, including those that were run.
  var count: Int { jobs.entries.count }

  func run(_ number: Int) { jobs.entries[number].runSynchronously(on: asUnownedTaskExecutor()) }
}

/// How the queue is called: tests have task-local values of the testing library, with which an enqueue
/// takes another path.
enum Caller: CaseIterable, Sendable {
  case withTaskLocals, withoutTaskLocals

  func call<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws
    -> Value
  {
    switch self {
    case .withTaskLocals: try await body()
    case .withoutTaskLocals: try await Task.detached(operation: body).value
    }
  }
}

extension Caller {
  /// Calls with or without a task-local value in the current task, which has no others.
  func enqueueHere(_ body: () -> Void) {
    switch self {
    case .withTaskLocals: Local.$number.withValue(1, operation: body)
    case .withoutTaskLocals: body()
    }
  }
}

/// An actor that records numbers.
actor Notes {
  private(set) var numbers: [Int] = []

  func add(_ number: Int) { numbers.append(number) }

  /// Keeps the actor busy for a moment.
  func work() {
    for number in 0..<100 { numbers.append(-number - 1) }
    numbers.removeLast(100)
  }
}

/// Counts its live instances.
final class Tracked: Sendable {
  private let alive: Counter

  init(_ alive: Counter) {
    self.alive = alive
    alive.add(1)
  }

  deinit { alive.add(-1) }
}

final class Counter: Sendable {
  private let count = Atomic<Int>(0)

  @discardableResult
  func add(_ number: Int = 1) -> Int {
    count.wrappingAdd(number, ordering: .sequentiallyConsistent).newValue
  }

  var value: Int { count.load(ordering: .sequentiallyConsistent) }
}

enum Local {
  @TaskLocal static var number = 0
}

struct SomeError: Error, Equatable {}

extension CaseIterable where Self: Sendable {
  static var all: [Self] { Array(allCases) }
}

extension WorkQueue {
  /// Waits until nothing in the queue is pending or running. Not for its own operations.
  func drained() async {
    do throws(QueueError) {
      try await drain()
    } catch {
      Issue.record("the drain was refused: \(error)")
    }
  }
}

extension QueueEvent {
  static func enqueued(_ label: String?) -> Self {
    .enqueued(OperationInfo(state: .pending, label: label))
  }
  static func started(_ label: String?) -> Self {
    .started(OperationInfo(state: .running, label: label))
  }
  static func ended(_ label: String?, _ end: OperationEnd) -> Self {
    .ended(OperationInfo(state: .ended, label: label), end)
  }
}
