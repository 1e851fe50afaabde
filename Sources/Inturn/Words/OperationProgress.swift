import InturnCore

/// How far something has come: an operation in units of its own, a queue in operations.
public struct OperationProgress: Sendable, Hashable {
  /// How many units are done.
  public var completed: Int
  /// Zero while unknown.
  public var total: Int

  /// A progress of `completed` units out of `total`; a total of zero means unknown.
  public init(completed: Int = 0, total: Int = 0) {
    self.completed = completed
    self.total = total
  }

  /// Sets the progress of the operation whose body, or child task of the body, calls this. False,
  /// with nothing done, when the body is not an asynchronous function that its queue calls, and
  /// when nobody could read the progress: a `run` without options. Stops the program when a number
  /// is negative, or more is completed than the total.
  ///
  /// Where work gets a token, use ``FinishToken/setProgress(completed:total:)``.
  ///
  /// - Parameters:
  ///   - completed: How many units are done.
  ///   - total: How many there are; zero while unknown.
  @discardableResult
  public static func report(completed: Int, total: Int) -> Bool {
    let progress = InturnCore.Progress(reporting: completed, of: total)
    return Frame.report(progress)
  }

  /// From 0 to 1; nil while the total is not known.
  public var fraction: Double? { total == 0 ? nil : Double(completed) / Double(total) }

  package init(_ progress: InturnCore.Progress) {
    self.init(completed: Int(progress.completed), total: Int(progress.total))
  }
}

extension InturnCore.Progress {
  /// What a program reports; an error of the program's stops it.
  init(reporting completed: Int, of total: Int) {
    require(completed >= 0 && total >= 0, "Progress must not be negative.")
    require(total == 0 || completed <= total, "No more can be completed than the total.")
    self.init(completed: Int64(completed), total: Int64(total))
  }
}
