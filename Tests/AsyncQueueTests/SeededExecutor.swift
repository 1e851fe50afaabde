import Foundation
import Synchronization
import TestSupport

/// Runs all that one thread causes, on that thread: its steps and the jobs of tasks that come of them, in
/// an order that a seed chooses.
///
/// What the Swift runtime would give to its pool comes here first: for that it has a hook, which is
/// there for test tools. The hook leaves out `Task.yield` and the main actor. Jobs of other threads go where they went.
final class SeededExecutor: SerialExecutor, @unchecked Sendable {
  // Safe to share: only its thread uses what changes.

  let seed: UInt64
  private var random: SeededGenerator
  private var jobs: [(job: UnownedJob, isOwn: Bool)] = []
  private var suspended: [UnsafeContinuation<Void, Never>] = []

  private init(seed: UInt64) {
    self.seed = seed
    random = SeededGenerator(seed: seed)
  }

  // MARK: The hook

  private typealias Original = @convention(thin) (UnownedJob) -> Void
  private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

  /// Whose thread it is that the hook listens to.
  private struct Current: @unchecked Sendable {
    // Safe to share: what the lock protects.
    let thread: pthread_t
    let executor: SeededExecutor
  }
  private static let current = Protected<Current?>(nil)

  private static let isHooked: Bool = {
    guard let hook = dlsym(UnsafeMutableRawPointer(bitPattern: 0), "swift_task_enqueueGlobal_hook")
    else { return false }
    hook.assumingMemoryBound(to: Hook.self).pointee = { job, original in
      let current = SeededExecutor.current.withLock { $0 }
      if let current, pthread_equal(current.thread, pthread_self()) != 0 {
        current.executor.jobs.append((job, isOwn: false))
      } else {
        original(job)
      }
    }
    return true
  }()

  /// Calls a function once for each seed, on a thread of its own, and outside of any task. False where
  /// the runtime has no hook.
  static func run(
    seeds: Range<UInt64>, _ schedule: @escaping @Sendable (SeededExecutor) -> Void
  ) async -> Bool {
    guard isHooked else { return false }
    await withCheckedContinuation { done in
      Thread.detachNewThread {
        for seed in seeds {
          let executor = SeededExecutor(seed: seed)
          current.withLock { $0 = Current(thread: pthread_self(), executor: executor) }
          schedule(executor)
          current.withLock { $0 = nil }
        }
        done.resume()
      }
    }
    return true
  }

  // MARK: A schedule

  /// One of so many, as the seed has it.
  func choose(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

  /// As an actor's executor.
  func enqueue(_ job: consuming ExecutorJob) { jobs.append((UnownedJob(job), isOwn: true)) }

  /// Suspends the task that calls it, until the seed has it go on.
  func suspend() async { await withUnsafeContinuation { suspended.append($0) } }

  /// Takes the steps in their order, and between them whatever else there is to do; then the rest of it.
  func take(_ steps: [() -> Void]) {
    var next = 0
    while next < steps.count || !jobs.isEmpty || !suspended.isEmpty {
      let number = choose(jobs.count + suspended.count + (next < steps.count ? 1 : 0))
      if number < jobs.count {
        let (job, isOwn) = jobs.remove(at: number)
        job.runSynchronously(on: isOwn ? asUnownedSerialExecutor() : Self.none)
      } else if number < jobs.count + suspended.count {
        suspended.remove(at: number - jobs.count).resume()
      } else {
        steps[next]()
        next += 1
      }
    }
  }

  /// The executor of what is on no actor is null.
  private static var none: UnownedSerialExecutor {
    unsafeBitCast((UInt(0), UInt(0)), to: UnownedSerialExecutor.self)
  }
}
