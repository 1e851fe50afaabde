/// The priority of a plain operation, in the three bits that there is room for.
struct PlainPriority {
  let tag: UInt

  private static let values: [UInt8] = [
    0, TaskPriority.background.rawValue, TaskPriority.utility.rawValue,
    TaskPriority.medium.rawValue, TaskPriority.high.rawValue, 33,
  ]

  init(tag: UInt) { self.tag = tag }

  /// Nil for a priority that has no number here. None at all, as outside of tasks, is 0.
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

  /// What a task of that priority is created with.
  var task: TaskPriority? {
    tag == 0 ? nil : TaskPriority(rawValue: Self.values[Int(tag)])
  }
}
