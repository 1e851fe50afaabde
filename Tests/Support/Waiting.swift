/// Whether a condition holds within the limit, which others make true without telling anybody.
nonisolated(nonsending)
  package func comesTrue(_ condition: () async -> Bool) async -> Bool
{
  let deadline = ContinuousClock.now + .seconds(Limit.seconds)
  while await !condition() {
    if ContinuousClock.now > deadline { return false }
    try? await Task.sleep(for: .milliseconds(1))
  }
  return true
}
