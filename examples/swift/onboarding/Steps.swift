import Synchronization

/// One interaction: what it asks, and what an answer does.
struct Step: Sendable {
  let label: String
  let question: String
  /// Takes a line; returns the outcome of the interaction, or nil if the line was not an answer.
  let answer: @Sendable (String) -> String?
  /// Nothing has to be asked.
  var wasGranted = false
  /// Nothing has to be asked if the service is up.
  var asksService = false

  static let all = [
    Step(
      label: "location", question: "May the app use your location? [y/n]",
      answer: answerPermission),
    Step(
      label: "camera", question: "May the app use the camera? [y/n]",
      answer: answerPermission, wasGranted: true),
    Step(
      label: "sign-in", question: "Your password (here it is \"inturn\"):",
      answer: SignIn().answer),
    Step(
      label: "service notice", question: "Some things will not work today. [Return]",
      answer: { _ in "finished" }, asksService: true),
  ]

  private static let answerPermission: @Sendable (String) -> String? = { line in
    switch line {
    case "y", "yes": "finished"
    case "n", "no": "failed (denied)"
    default: nil
    }
  }
}

/// One interaction keeps the queue through all tries.
private final class SignIn: Sendable {
  private let triesLeft = Mutex(3)

  @Sendable func answer(_ line: String) -> String? {
    if line == "inturn" { return "finished" }
    let left = triesLeft.withLock { tries in
      tries -= 1
      return tries
    }
    if left == 0 { return "failed (too many tries)" }
    print("[sign-in] That is not it; \(left) left.")
    return nil
  }
}
