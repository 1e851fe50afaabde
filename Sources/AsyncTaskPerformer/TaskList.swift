import Dispatch
import Inturn

/// One list of tasks that is being performed: a FIFO queue of the engine's in which each task is an
/// operation, drained by a dispatch queue.
final class TaskList: @unchecked Sendable {
  // Safe to share: `queue`, `executor` and `isDone` are only used by the one running block of
  // `drainer`, and before the first one.

  private let tasks: [any AsyncTask]
  let site: Site
  private let completion: @Sendable () -> Void
  /// Runs its blocks one after the other on the queue passed to the list.
  private let drainer: DispatchQueue
  private var queue = Handle(bits: 0)
  private var executor = Handle(bits: 0)
  private var isDone = false

  /// How many calls a block makes before it gives way to others on its queue.
  private static var callsAtATime: Int { 16 }

  init(
    _ tasks: [any AsyncTask], on systemQueue: DispatchQueue, _ fileID: StaticString,
    _ line: UInt, _ completion: @escaping @Sendable () -> Void
  ) {
    self.tasks = tasks
    site = Site(fileID, line)
    self.completion = completion
    drainer = DispatchQueue(label: "inturn.tasks", target: systemQueue)
  }

  /// One place in the list. The last one, after the tasks, belongs to the completion.
  private final class Place: Sendable {
    let list: TaskList
    let index: Int

    init(_ list: TaskList, _ index: Int) {
      self.list = list
      self.index = index
    }
  }

  func begin() {
    // Nothing is drained before the list is complete.
    drainer.suspend()
    defer { drainer.resume() }
    executor = Engine.createHostExecutor(
      label: nil,
      waker: HostExecutor.Waker(call: { [self] _ in drainer.async { [self] in drain() } }))!
    var options = QueueOptions(kind: .fifo)
    let (status, queue) = "SynchronousDispatchGroup".withCString {
      options.label = $0
      return Engine.createQueue(options, executor: executor, clock: Handle(bits: 0))
    }
    require(status == .ok, "Inturn: no memory or thread for a queue")
    self.queue = queue
    for index in 0...tasks.count {
      let place = Unmanaged.passRetained(Place(self, index)).toOpaque()
      let status = Engine.enqueue(
        queue, at: site,
        work: { place, token in
          let place = Unmanaged<Place>.fromOpaque(place!).takeUnretainedValue()
          place.list.start(place.index, Handle(bits: token))
        }, context: place, destroy: { Unmanaged<Place>.fromOpaque($0!).release() })
      require(status == .ok, "Inturn: no memory for an operation")
    }
  }

  private func start(_ index: Int, _ token: Handle) {
    if index < tasks.count {
      let completion = TaskCompletion(token, of: self, index)
      tasks[index].execute { completion.call() }
    } else {
      _ = Engine.end(token, as: .finished)
      isDone = true
    }
  }

  /// Calls what waits. The waker is called only once until everything that waits has been called.
  private func drain() {
    guard let host = Engine.hostExecutor(executor).1 else { return }
    let calls = host.drain(maximumCalls: Self.callsAtATime).calls
    if isDone {
      isDone = false
      _ = Engine.destroy(queue: queue)
      // This also releases the waker, which has kept this list alive.
      _ = Engine.destroy(executor: executor)
      completion()
    } else if calls == Self.callsAtATime {
      drainer.async { [self] in drain() }
    }
  }

  func describe(_ index: Int) -> String {
    "task \(index + 1) of \(tasks.count) (\(type(of: tasks[index]))) of the list at \(site.text ?? "an unknown line")"
  }
}
