/// The priority of a plain operation, in three bits.
struct PlainPriority {
  let tag: UInt

  private static let values: [UInt8] = [
    0, TaskPriority.background.rawValue, TaskPriority.utility.rawValue,
    TaskPriority.medium.rawValue, TaskPriority.high.rawValue, 33,
  ]

  init(tag: UInt) { self.tag = tag }

  /// Nil for a priority without a tag. No priority, as outside of tasks, is 0.
  @inline(__always)
  init?(_ priority: UInt8) {
    switch priority {
    case 0: tag = 0
    case 9: tag = 1
    case 17: tag = 2
    case 21: tag = 3
    case 25: tag = 4
    case 33: tag = 5
    default: return nil
    }
  }

  /// The priority with which to create a task.
  var task: TaskPriority? {
    tag == 0 ? nil : TaskPriority(rawValue: Self.values[Int(tag)])
  }
}
