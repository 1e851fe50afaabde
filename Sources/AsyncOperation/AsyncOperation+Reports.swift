import Foundation
import InturnCore

extension AsyncOperation {
  /// Something that the library noticed and nobody asked for.
  public struct Report: Sendable {
    /// What it is about.
    public enum Kind: Sendable {
      /// A finish callback or a token was lost, and its operation ended as abandoned.
      case lostToken
      /// A wait, or a dependency, would never have come to an end.
      case deadlock
      /// An operation takes longer than it said that it would.
      case stall
      /// Observers of a value have gone on changing it in answer to their own changes.
      case runaway
      /// An observer of a value cannot be called any more: its queue is gone.
      case lostObserver
      /// A pool of the library needs a thread, and none can be started.
      case noThread
      /// A function of the C library has refused an argument, which the message names.
      case invalidArgument
      /// Work in another language has thrown an exception that nobody gets.
      case exception
      /// A queue of another language has gone before its work had ended.
      case dropped
    }

    /// What it is about.
    public let kind: Kind
    /// One line.
    public let message: String

    init(_ report: InturnCore.Report) {
      switch report.kind {
      case .lostToken: kind = .lostToken
      case .deadlock: kind = .deadlock
      case .stall: kind = .stall
      case .runaway: kind = .runaway
      case .lostObserver: kind = .lostObserver
      case .noThread: kind = .noThread
      case .invalidArgument: kind = .invalidArgument
      case .exception: kind = .exception
      case .dropped: kind = .dropped
      }
      message = report.message
    }
  }

  /// Says where the operation was made, for reports.
  ///
  /// The classes that are made with closures know it by themselves. A subclass whose initialiser
  /// takes the two with the same defaults, and hands them over, is reported with the place of its
  /// caller.
  public final func setOrigin(fileID: StaticString = #fileID, line: UInt = #line) {
    storage.origin = Origin(fileID: fileID, line: line)
  }

  /// Sets who is told what the library notices, in place of a line on the standard error output;
  /// nil for that.
  ///
  /// There is one handler in a process, for all of the library. It is called on any thread, without
  /// a lock, and may call any function of the library.
  public static func setReportHandler(_ handler: (@Sendable (Report) -> Void)?) {
    Engine.setReportHandler(
      handler.map { handler in
        ReportHandler(call: { handler(Report($0)) }, onRelease: {})
      })
  }
}

extension Operation {
  /// The operation in a message: its name, its class, where it was made.
  final var described: String {
    var text = "operation"
    if let name, !name.isEmpty { text += " " + name.withCString(InturnCore.Report.quoted) }
    text += " (\(type(of: self))"
    if let origin = (self as? AsyncOperation)?.storage.origin {
      text += ", made at \(origin.fileID):\(origin.line)"
    }
    return text + ")"
  }
}

extension InturnCore.Report {
  static func lostToken(of operation: AsyncOperation) -> Self {
    Self(
      kind: .lostToken,
      message: "\(operation.described) was abandoned: its finish callback was lost uncalled",
      queueLabel: nil, operationLabel: operation.name)
  }

  static func ring(_ cycle: DependencyCycle) -> Self {
    Self(
      kind: .deadlock, message: "refused \(cycle)", queueLabel: nil, operationLabel: nil)
  }
}
