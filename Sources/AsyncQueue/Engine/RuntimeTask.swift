internal import CSwiftTask

/// The current task as the Swift runtime knows it. The standard library's own calls retain the task
/// each time, which costs more than the rest of an enqueue.
enum RuntimeTask {
  /// Nil outside of tasks.
  @inline(__always)
  static var current: UnsafeRawPointer? { cswift_task_current() }

  /// The current task's priority, and zero outside of tasks.
  @inline(__always)
  static var priority: UInt8 {
    guard let task = cswift_task_current() else { return 0 }
    return UInt8(truncatingIfNeeded: cswift_task_priority(task))
  }

  /// Whether the current task is cancelled.
  @inline(__always)
  static var isCancelled: Bool {
    guard let task = cswift_task_current() else { return false }
    return cswift_task_is_cancelled(task)
  }
}
