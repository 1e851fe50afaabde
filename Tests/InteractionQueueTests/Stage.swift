import Foundation
import Synchronization
import TestSupport
import Testing

@testable import InteractionQueue

/// A queue whose time the test advances, with a log of what has happened.
final class Stage: Sendable {
  private let clock = ManualClock()
  let queue: InteractionQueue
  private let lines = Protected<[String]>([])
  private let presentation = Protected<FinishToken?>(nil)

  func keep(_ new: FinishToken) { presentation.withLock { $0 = new } }
  var kept: FinishToken! { presentation.withLock { $0 } }

  init(capacity: Int? = nil) {
    queue = InteractionQueue(
      label: "stage", settleDelay: .milliseconds(500), gap: .milliseconds(250), capacity: capacity,
      clock: clock)
  }

  /// A stage whose view has settled.
  static func visible() async -> Stage {
    let stage = Stage()
    stage.queue.onViewDidAppear()
    await stage.advance(500)
    return stage
  }

  /// Lets milliseconds pass, and then everything happen that is due.
  func advance(_ milliseconds: Int64) async {
    pass(milliseconds)
    await Self.settle()
  }

  /// Lets milliseconds pass.
  func pass(_ milliseconds: Int64) {
    clock.advance(by: .milliseconds(milliseconds))
  }

  /// Waits until the main queue has done its present work.
  static func settle() async {
    for _ in 0..<4 {
      await withCheckedContinuation { continuation in
        OperationQueue.main.addOperation { continuation.resume() }
      }
    }
  }

  func note(_ line: String) { lines.withLock { $0.append(line) } }

  /// The lines that were logged since the last call.
  func noted() -> [String] {
    lines.withLock { lines in
      defer { lines = [] }
      return lines
    }
  }

  /// Adds an interaction that is logged and stays on screen until the callback in the box is called.
  @discardableResult
  func show(_ name: String, _ options: OperationOptions = OperationOptions()) -> Shown {
    let shown = Shown()
    shown.interaction = queue.enqueue(options) { presentation in
      self.note(name)
      shown.presentation = presentation
    }
    return shown
  }
}

/// An interaction that a test has added.
final class Shown: Sendable {
  private let parts = Protected<(QueuedOperation?, FinishToken?)>((nil, nil))

  var interaction: QueuedOperation! {
    get { parts.withLock { $0.0 } }
    set { parts.withLock { $0.0 = newValue } }
  }

  /// The presentation of the last attempt.
  var presentation: FinishToken! {
    get { parts.withLock { $0.1 } }
    set { parts.withLock { $0.1 = newValue } }
  }

  func finish(_ location: SourceLocation = #_sourceLocation) async {
    guard let presentation else {
      Issue.record("it has not been presented", sourceLocation: location)
      return
    }
    presentation.finish()
    await Stage.settle()
  }
}

/// Something that happens once.
final class Flag: Sendable {
  private let value = Atomic(false)

  var isSet: Bool { value.load(ordering: .acquiring) }
  func set() { value.store(true, ordering: .releasing) }
}

extension QueueEvent {
  /// An event as text, for comparisons.
  var text: String {
    let number = operation?.number.map { " \($0)" } ?? ""
    return switch self {
    case .enqueued: "enqueued" + number
    case .joined: "joined" + number
    case .started: "started" + number
    case .retrying: "retrying" + number
    case .ended(_, let end): "ended\(number) \(end)"
    case .suspended, .resumed, .closed, .idle: "\(self)"
    }
  }
}
