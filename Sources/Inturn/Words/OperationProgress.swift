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

  /// Says how far the operation has come whose body calls this, or a child task of it: so many of so
  /// many units. False, and nothing has happened, when the body is not an asynchronous function that
  /// its queue calls, and where nobody could ask: a `run` without options.
  ///
  /// Where work gets a token, it is ``FinishToken/setProgress(completed:total:)`` that does this.
  ///
  /// - Parameters:
  ///   - completed: How many units are done.
  ///   - total: Zero while it is not known.
  @discardableResult
  public static func report(completed: Int, total: Int) -> Bool {
    let progress = InturnCore.Progress(reporting: completed, of: total)
    return OperationFrame.report(progress)
  }

  /// From 0 to 1; nil while the total is not known.
  public var fraction: Double? { total == 0 ? nil : Double(completed) / Double(total) }

  package init(_ progress: InturnCore.Progress) {
    self.init(completed: Int(progress.completed), total: Int(progress.total))
  }
}

extension InturnCore.Progress {
  /// What a program says, or its error.
  init(reporting completed: Int, of total: Int) {
    precondition(completed >= 0 && total >= 0, "Progress must not be negative.")
    precondition(total == 0 || completed <= total, "No more can be completed than the total.")
    self.init(completed: Int64(completed), total: Int64(total))
  }
}
