import AsyncTaskPerformer
import Dispatch
import Foundation
import InturnCore
import TestSupport
import Testing

/// Lists of tasks.
@Suite struct SynchronousDispatchGroupTests {
  /// A task that logs when it begins, and ends when and where a closure decides.
  private struct LoggedTask: AsyncTask {
    let name: String
    let log: Log<String>
    let work: @Sendable (@escaping @Sendable () -> Void) -> Void

    func execute(completion: @escaping @Sendable () -> Void) {
      log.add("b\(name)")
      work {
        log.add("e\(name)")
        completion()
      }
    }
  }

  /// Queues on which a group may work. The test process drains the main queue.
  static let queues: [String] = ["main", "serial", "concurrent"]

  private func queue(_ name: String) -> DispatchQueue {
    switch name {
    case "main": .main
    case "serial": DispatchQueue(label: "serial")
    default: DispatchQueue(label: "concurrent", attributes: .concurrent)
    }
  }

  @Test(arguments: queues)
  func `a task begins when the one before it has completed, and the completion is called last`(
    name: String
  ) async {
    let log = Log<String>()
    let done = Signal()
    // The later the task, the sooner it would end if all began at once.
    let tasks = (1...3).map { number in
      LoggedTask(name: "\(number)", log: log) { completion in
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(9 - 3 * number)) {
          completion()
        }
      }
    }
    SynchronousDispatchGroup(systemQueue: queue(name)).executeTasks(tasks) {
      log.add("done")
      done.raise()
    }
    #expect(await done.wait())
    #expect(log.entries == ["b1", "e1", "b2", "e2", "b3", "e3", "done"])
  }

  @Test(arguments: queues)
  func `1,000 tasks that complete at once or elsewhere are performed in order`(name: String) async {
    let log = Log<String>()
    let tasks = (0..<1_000).map { number in
      LoggedTask(name: "\(number)", log: log) { completion in
        if number.isMultiple(of: 3) {
          completion()
        } else {
          DispatchQueue.global().async { completion() }
        }
      }
    }
    await SynchronousDispatchGroup(systemQueue: queue(name)).executeTasks(tasks)
    let isInOrder = log.entries == (0..<1_000).flatMap { ["b\($0)", "e\($0)"] }
    #expect(isInOrder)
  }

  @Test func `tasks and completion are called on the system queue`() async {
    let key = DispatchSpecificKey<Int>()
    let queue = DispatchQueue(label: "mine")
    queue.setSpecific(key: key, value: 1)
    let log = Log<String>()
    let done = Signal()
    let task = LoggedTask(name: "", log: log) { completion in
      log.add(DispatchQueue.getSpecific(key: key) == 1 ? "task there" : "task elsewhere")
      DispatchQueue.global().async { completion() }
    }
    let group = SynchronousDispatchGroup(systemQueue: queue)
    #expect(group.systemQueue === queue)
    group.executeTasks([task, task]) {
      log.add(DispatchQueue.getSpecific(key: key) == 1 ? "done there" : "done elsewhere")
      done.raise()
    }
    #expect(await done.wait())
    #expect(log.entries == ["b", "task there", "e", "b", "task there", "e", "done there"])
  }

  @Test func `without a system queue it is the main queue`() async {
    MainQueue.begin()
    let log = Log<String>()
    let done = Signal()
    SynchronousDispatchGroup().executeTasks([
      LoggedTask(name: "", log: log) { completion in
        #expect(MainQueue.isCurrent)
        DispatchQueue.global().async { completion() }
      }
    ]) {
      #expect(MainQueue.isCurrent)
      done.raise()
    }
    #expect(await done.wait())
    #expect(log.entries == ["b", "e"])
  }

  @Test func `an empty list completes on the system queue, after the call`() async {
    let queue = DispatchQueue(label: "held")
    queue.suspend()
    let done = Signal()
    SynchronousDispatchGroup(systemQueue: queue).executeTasks([]) { done.raise() }
    #expect(done.missing == 1)
    queue.resume()
    #expect(await done.wait())
  }

  @Test func `completing a task twice, or from several threads, counts once`() async {
    for _ in 0..<scaled(200) {
      let log = Log<String>()
      let done = Signal()
      let twice = LoggedTask(name: "2", log: log) { completion in
        completion()
        DispatchQueue.global().async { completion() }
        DispatchQueue.global().async { completion() }
      }
      let last = Signal()
      let third = LoggedTask(name: "3", log: log) { completion in
        DispatchQueue.global().async {
          completion()
          last.raise()
        }
      }
      SynchronousDispatchGroup(systemQueue: .global()).executeTasks([twice, third]) { done.raise() }
      #expect(await done.wait())
      #expect(await last.wait())
      #expect(done.missing == 0)
      #expect(log.entries.filter { $0 == "b3" }.count == 1)
      #expect(log.entries.last == "e3" || log.entries.last == "e2")
    }
  }

  @Test func `a task that loses its completion is reported, and the list goes on`() async {
    Reports.begin()
    let log = Log<String>()
    let tasks = [
      LoggedTask(name: "1", log: log) { _ in }, LoggedTask(name: "2", log: log) { $0() },
    ]
    let line = #line as UInt + 1
    await SynchronousDispatchGroup(systemQueue: .global()).executeTasks(tasks)
    #expect(log.entries == ["b1", "b2", "e2"])
    #expect(
      await Reports.told("SynchronousDispatchGroupTests.swift:\(line)").map(\.message) == [
        """
        task 1 of 2 (LoggedTask) of the list at \
        AsyncTaskPerformerTests/SynchronousDispatchGroupTests.swift:\(line) was abandoned: \
        its completion was lost uncalled
        """
      ])
  }

  @Test func `lists of one group do not wait for each other, and may be begun by a task`() async {
    let log = Log<String>()
    let done = Signal()
    let group = SynchronousDispatchGroup(systemQueue: DispatchQueue(label: "both"))
    let outer = LoggedTask(name: "outer", log: log) { completion in
      group.executeTasks([LoggedTask(name: "inner", log: log) { $0() }]) { completion() }
    }
    group.executeTasks([outer]) { done.raise() }
    #expect(await done.wait())
    #expect(log.entries == ["bouter", "binner", "einner", "eouter"])
  }

  @Test func `a list that is done leaves nothing behind`() async {
    final class OwnTask: AsyncTask {
      func execute(completion: @escaping @Sendable () -> Void) {
        DispatchQueue.global().async { completion() }
      }
    }
    weak var task: OwnTask?
    let executors = Engine.statistics.executors
    let lists = 200
    do {
      let own = OwnTask()
      task = own
      for _ in 0..<lists {
        await SynchronousDispatchGroup(systemQueue: .global()).executeTasks([own, own])
      }
    }
    // The thread that has called the completion may still be leaving the list.
    #expect(await comesTrue { task == nil })
    // Other tests create executors meanwhile, but never that many.
    let limit = executors + UInt64(lists / 2)
    #expect(await comesTrue { Engine.statistics.executors <= limit })
  }

  @Test func `many lists from many threads each complete once`() async {
    let count = scaled(500)
    let completions = Signal(count: count)
    let calls = Counter()
    for _ in 0..<count {
      DispatchQueue.global().async {
        let log = Log<String>()
        let tasks = (0..<3).map { number in
          LoggedTask(name: "\(number)", log: log) { completion in
            calls.up()
            DispatchQueue.global().async { completion() }
          }
        }
        SynchronousDispatchGroup(systemQueue: .global()).executeTasks(tasks) { completions.raise() }
      }
    }
    #expect(await completions.wait())
    #expect(calls.value == 3 * count)
  }
}
