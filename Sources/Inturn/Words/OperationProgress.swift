import InturnCore

/// How far something has come, in units of its own: an operation in what its token says, a queue in
/// operations.
public struct OperationProgress: Sendable, Hashable {
  /// How many units are done.
  public var completed: Int
  /// Zero while it is not known.
  public var total: Int

  /// So many of so many units are done. A total of zero: not known.
  public init(completed: Int = 0, total: Int = 0) {
    self.completed = completed
    self.total = total
  }

  /// From 0 to 1; nil while the total is not known.
  public var fraction: Double? { total == 0 ? nil : Double(completed) / Double(total) }

  package init(_ progress: InturnCore.Progress) {
    self.init(completed: Int(progress.completed), total: Int(progress.total))
  }
}
