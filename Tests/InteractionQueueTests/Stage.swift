import Foundation
import InturnCore
import Synchronization
import TestSupport
import Testing

@testable import InteractionQueue

/// A queue whose time the test advances, and what has happened on it.
final class Stage: Sendable {
  private let clock = Engine.createManualClock()
  let queue: InteractionQueue
  private let lines = Protected<[String]>([])
  private let presentation = Protected<Presentation?>(nil)

  func keep(_ new: Presentation) { presentation.withLock { $0 = new } }
  var kept: Presentation! { presentation.withLock { $0 } }

  init(capacity: Int? = nil) {
    queue = InteractionQueue(
      label: "stage", settleDelay: .milliseconds(500), gap: .milliseconds(250), capacity: capacity,
      executor: MainDelivery.shared.executor, clock: clock)
  }

  /// A stage whose view has settled.
  static func visible() async -> Stage {
    let stage = Stage()
    stage.queue.onViewDidAppear()
    await stage.advance(500)
    return stage
  }

  /// Lets milliseconds pass, and all that is due then happen.
  func advance(_ milliseconds: Int64) async {
    pass(milliseconds)
    await Self.settle()
  }

  /// Lets milliseconds pass.
  func pass(_ milliseconds: Int64) {
    _ = Engine.clock(clock).1!.advance(by: milliseconds * 1_000_000)
  }

  /// Waits until the main queue has done what it has been given.
  static func settle() async {
    for _ in 0..<4 {
      await withCheckedContinuation { continuation in
        OperationQueue.main.addOperation { continuation.resume() }
      }
    }
  }

  func note(_ line: String) { lines.withLock { $0.append(line) } }

  /// What has been noted since the last time.
  func noted() -> [String] {
    lines.withLock { lines in
      defer { lines = [] }
      return lines
    }
  }

  /// Adds an interaction that is noted and stays on screen until the box's callback is called.
  @discardableResult
  func show(_ name: String, _ options: InteractionOptions = InteractionOptions()) -> Shown {
    let shown = Shown()
    shown.interaction = queue.addPresentation(options) { presentation in
      self.note(name)
      shown.presentation = presentation
    }
    return shown
  }
}

/// An interaction that a test has added.
final class Shown: Sendable {
  private let parts = Protected<(Interaction?, Presentation?)>((nil, nil))

  var interaction: Interaction! {
    get { parts.withLock { $0.0 } }
    set { parts.withLock { $0.0 = newValue } }
  }

  /// Of the attempt that began last.
  var presentation: Presentation! {
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
