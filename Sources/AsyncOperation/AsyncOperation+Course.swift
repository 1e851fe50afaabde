import Foundation
import Inturn

/// Carries out the machine's answers.
extension AsyncOperation {
  /// Starts the operation, except for calling `main()`. When true, the caller calls it.
  func begin() -> Bool { storage.start() && tell() }

  /// Ends the operation. False when it has an end already.
  ///
  /// - Parameter report: The report to make if this call ends it. Sent before anybody sees the end.
  func conclude(
    as end: OperationEnd, box: OutcomeBox? = nil,
    report: @autoclosure () -> InturnCore.Report? = nil
  ) -> Bool {
    let answer = storage.end(as: end, box)
    if answer == .refused { return false }
    report()?.send()
    if answer == .tell { _ = tell() }
    return true
  }

  /// Tells Foundation and the observers what has changed, until there is nothing left to tell. True
  /// when the operation is running and has no end yet.
  private func tell() -> Bool {
    while true {
      switch storage.nextStep() {
      case .tellRunning:
        willChangeValue(forKey: Key.isExecuting)
        let observed = storage.enterRunning()
        didChangeValue(forKey: Key.isExecuting)
        observed?.deliver()
      case .tellEnd(let wasRunning):
        if wasRunning { willChangeValue(forKey: Key.isExecuting) }
        willChangeValue(forKey: Key.isFinished)
        let told = storage.enterEnd()
        told.gateOpener?(told.end)
        if wasRunning { didChangeValue(forKey: Key.isExecuting) }
        didChangeValue(forKey: Key.isFinished)
        told.observed?.deliver()
        told.observed?.finish()
        for handler in told.handlers { handler(told.end) }
        letGoOfWork()
      case .leave(let isRunning):
        return isRunning
      }
    }
  }

  private enum Key {
    static let isExecuting = "isExecuting"
    static let isFinished = "isFinished"
  }

  /// Starts the grace time of a cancelled operation.
  func begin(_ grace: Grace) {
    let timer = GraceTimer(grace) { [weak self] in _ = self?.conclude(as: .cancelled(.grace)) }
    guard let timer else { return }
    _ = storage.keep(graceTimer: timer)
  }
}
