/// Whether a condition holds within so many seconds, which others make true without telling anybody.
nonisolated(nonsending)
  package func comesTrue(
    within seconds: Int = Limit.seconds, _ condition: () async -> Bool
  ) async -> Bool
{
  let deadline = ContinuousClock.now + .seconds(seconds)
  while await !condition() {
    if ContinuousClock.now > deadline { return false }
    try? await Task.sleep(for: .milliseconds(1))
  }
  return true
}
