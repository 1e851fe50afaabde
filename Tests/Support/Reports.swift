import AsyncOperation

/// What the library reports while the tests run.
///
/// There is one report handler in a process, and all Swift tests share one: each looks for the
/// names of its own operations.
package enum Reports {
  private static let log = {
    let log = Log<AsyncOperation.Report>()
    AsyncOperation.setReportHandler { log.add($0) }
    return log
  }()

  /// To be called before what is to be reported.
  package static func begin() { _ = log }

  package static func about(_ text: String) -> [AsyncOperation.Report] {
    log.entries.filter { $0.message.contains(text) }
  }
}
