import Foundation
import Synchronization
import TestSupport

/// Runs everything that one thread causes on that thread: its steps and the jobs of tasks that they
/// cause, in an order that a seed chooses.
///
/// Jobs for the Swift runtime's pool come here first, by way of the runtime's hook for test tools. The
/// hook does not cover `Task.yield` and the main actor. Jobs of other threads go where they always go.
final class SeededExecutor: SerialExecutor, @unchecked Sendable {
  // Safe to share: what changes is only used by its thread.

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

  /// The thread that the hook watches.
  private struct Current: @unchecked Sendable {
    // Safe to share: it never changes.
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

  /// Calls a function once for each seed, on a thread of its own and outside of any task. False if the
  /// runtime has no hook.
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

  /// A number below `count`, chosen by the seed.
  func choose(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

  /// Called when this is an actor's executor.
  func enqueue(_ job: consuming ExecutorJob) { jobs.append((UnownedJob(job), isOwn: true)) }

  /// Suspends the calling task until the seed chooses to resume it.
  func suspend() async { await withUnsafeContinuation { suspended.append($0) } }

  /// Takes the steps in order, and in between other things that can be done; then the rest of those.
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

  /// The executor of code that is on no actor is null.
  private static var none: UnownedSerialExecutor {
    unsafeBitCast((UInt(0), UInt(0)), to: UnownedSerialExecutor.self)
  }
}
