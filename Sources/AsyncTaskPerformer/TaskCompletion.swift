import Inturn
import Synchronization

/// A task's completion: the first call ends the task, and so does its release.
final class TaskCompletion: Sendable {
  /// Whether it has been called. Relaxed: it only tells the first call from others; the end of the
  /// operation publishes what the task has done.
  private let isUsed = Atomic<Bool>(false)
  private let token: Handle
  private let list: TaskList
  private let index: Int

  init(_ token: Handle, of list: TaskList, _ index: Int) {
    self.token = token
    self.list = list
    self.index = index
  }

  func call() {
    if isUsed.exchange(true, ordering: .relaxed) { return }
    _ = Engine.end(token, as: .finished)
  }

  deinit {
    if isUsed.load(ordering: .relaxed) { return }
    // Sent before anybody sees the end.
    InturnCore.Report(
      .lostToken, "\(list.describe(index)) was abandoned: its completion was lost uncalled",
      at: list.site
    ).send()
    _ = Engine.end(token, as: .abandoned)
  }
}
