/// Whether a condition comes true within this many seconds, by what others do.
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
