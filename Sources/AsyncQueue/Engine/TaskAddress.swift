/// A task without its types and without a reference: whoever has one knows that the task lives.
@usableFromInline
struct TaskAddress: Equatable, Sendable {
  /// Identifies the task while it lives. Zero stands for none.
  @usableFromInline let bits: UInt

  static let none = TaskAddress(bits: 0)

  @usableFromInline
  init(bits: UInt) { self.bits = bits }

  /// The address of a running task.
  @inline(__always)
  init(of task: UnsafeCurrentTask) { bits = unsafeBitCast(task, to: UInt.self) }

  /// A task is a single reference.
  @inlinable
  init<Success, Failure>(of task: Task<Success, Failure>) {
    self.init(bits: unsafeBitCast(task, to: UInt.self))
  }

  /// The task, retained, to be cancelled or escalated. Its type is not the real one, so its value
  /// must not be asked for. Nil for none.
  var task: Task<Void, Never>? {
    withUnsafePointer(to: bits) {
      $0.withMemoryRebound(to: Task<Void, Never>?.self, capacity: 1) { $0.pointee }
    }
  }
}

extension Task {
  /// Raises the task's priority, if the system supports that.
  func escalate(to priority: TaskPriority) {
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
      escalatePriority(to: priority)
    }
  }
}

extension TaskPriority {
  /// The raw priority of the current task; zero outside of tasks, which have none.
  @inline(__always)
  static var ofCurrentTask: UInt8 {
    withUnsafeCurrentTask { task in
      guard let task else { return 0 }
      return task.priority.rawValue
    }
  }
}
