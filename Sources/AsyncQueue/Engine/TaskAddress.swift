/// A task without its types, and without keeping it: who has one knows that the task lives.
@usableFromInline
struct TaskAddress: Equatable, Sendable {
  /// What tells the task from all others as long as it lives. Zero stands for none.
  @usableFromInline let bits: UInt

  static let none = TaskAddress(bits: 0)

  @usableFromInline
  init(bits: UInt) { self.bits = bits }

  /// That of a task that runs.
  @inline(__always)
  init(of task: UnsafeCurrentTask) { bits = unsafeBitCast(task, to: UInt.self) }

  /// A task is one reference, and nothing else.
  @inlinable
  init<Success, Failure>(of task: Task<Success, Failure>) {
    self.init(bits: unsafeBitCast(task, to: UInt.self))
  }

  /// The task, which is kept from now on, to be cancelled or escalated; its type is not its own, so
  /// that its value is not to be asked for. Nil for none.
  var task: Task<Void, Never>? {
    withUnsafePointer(to: bits) {
      $0.withMemoryRebound(to: Task<Void, Never>?.self, capacity: 1) { $0.pointee }
    }
  }
}

extension Task {
  /// Raises the task's priority where the system's tasks can be escalated; else does nothing.
  func escalate(to priority: TaskPriority) {
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
      escalatePriority(to: priority)
    }
  }
}

extension TaskPriority {
  /// The number of the current task's; zero outside of tasks, where there is none.
  @inline(__always)
  static var ofCurrentTask: UInt8 {
    withUnsafeCurrentTask { task in
      guard let task else { return 0 }
      return task.priority.rawValue
    }
  }
}
