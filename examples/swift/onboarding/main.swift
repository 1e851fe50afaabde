// Takes a new user through four interactions, one at a time.
//
//     swift run --package-path examples/swift onboarding [--fast] [--service-up]
//
// (No pauses; nothing to notice.) What to look at: each is an interaction of one queue. Its closure
// shows it, on the main thread, and returns; its `FinishToken` is used elsewhere: on the
// terminal's thread (Terminal.swift, Steps.swift) or by a task that has asked a service.

import AsyncQueue
import InteractionQueue
import Synchronization

final class Onboarding: Sendable {
  private let interactions: InteractionQueue
  private let background = FIFOQueue(label: "background")
  private let terminal = Terminal()
  private let networkDelay: Duration
  private let isServiceUp: Bool
  private let added = Mutex<[QueuedOperation]>([])
  private let summary = Mutex<[String]>([])

  init(isFast: Bool, isServiceUp: Bool) {
    interactions = InteractionQueue(
      label: "onboarding", settleDelay: isFast ? .zero : .milliseconds(500),
      gap: isFast ? .zero : .milliseconds(250))
    interactions.setStallLimit(nil)  // people take their time
    networkDelay = isFast ? .zero : .milliseconds(400)
    self.isServiceUp = isServiceUp
  }

  func run() async throws {
    print("Welcome. Four interactions, one at a time; Ctrl-D leaves.\n")
    for step in Step.all { background.enqueue { [self] in add(step) } }
    interactions.onViewDidAppear()
    try await background.drain()  // all have been added
    for (step, interaction) in zip(Step.all, added.withLock { $0 }) {
      let end = await interaction.waitForEnd()
      if summary.withLock({ $0.contains { $0.hasPrefix(step.label) } }) { continue }
      tell(step, end == .cancelled ? "cancelled (never started)" : "\(end)")
    }
    print("\nHow they ended, in order:")
    for line in summary.withLock({ $0 }) { print("  \(line)") }
  }

  /// Any thread may add interactions.
  private func add(_ step: Step) {
    let interaction = interactions.enqueue { [self] in begin(step, $0) }
    added.withLock { $0.append(interaction) }
  }

  @MainActor
  private func begin(_ step: Step, _ token: FinishToken) {
    if step.wasGranted {
      print("[\(step.label)] You have allowed this before.")
      return finish(step, token, "finished (already granted)")
    }
    // Asked to end: the interaction does, and those that wait end with it.
    token.onCancel { [self] token in
      tell(step, "cancelled")
      token.cancel()
      interactions.cancelAll()
    }
    if step.asksService {
      Terminal.show("[\(step.label)] Asking the service how it is ... ")
      background.enqueue { [self] in await askService(step, token) }
    } else {
      ask(step, token)
    }
  }

  private func ask(_ step: Step, _ token: FinishToken) {
    terminal.ask(step.label, step.question) { [self] line in
      guard let line else {
        Task { await leave(step, token) }
        return true
      }
      guard let outcome = step.answer(line) else { return false }
      finish(step, token, outcome)
      return true
    }
  }

  /// Runs in a task, as the main thread must not wait for a network.
  private func askService(_ step: Step, _ token: FinishToken) async {
    try? await Task.sleep(for: networkDelay)
    print("it is \(isServiceUp ? "up" : "down").")
    isServiceUp ? finish(step, token, "finished (skipped)") : ask(step, token)
  }

  /// The user has left: nothing more is shown; the open interaction must end, and is held until then.
  private func leave(_ step: Step, _ token: FinishToken) async {
    _ = try? await background.drain()  // all have been added
    interactions.onViewWillDisappear()
    interactions.close()
    let interaction = added.withLock { $0[Step.all.firstIndex { $0.label == step.label }!] }
    interaction.cancel()
    _ = (await interaction.waitForEnd(), token)
  }

  /// Prints how an interaction ends, and then ends it, so that the line comes before the next one.
  private func finish(_ step: Step, _ token: FinishToken, _ outcome: String) {
    tell(step, outcome)
    token.finish()
  }

  private func tell(_ step: Step, _ outcome: String) {
    print("[\(step.label)] \(outcome)")
    summary.withLock {
      $0.append(step.label.padding(toLength: 16, withPad: " ", startingAt: 0) + outcome)
    }
  }
}

let options = Set(CommandLine.arguments.dropFirst())
if !options.isSubset(of: ["--fast", "--service-up"]) {
  Terminal.fail("usage: onboarding [--fast] [--service-up]")
}
let (isFast, isServiceUp) = (options.contains("--fast"), options.contains("--service-up"))
try await Onboarding(isFast: isFast, isServiceUp: isServiceUp).run()
