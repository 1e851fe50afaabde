/// A task of whatever result.
@usableFromInline
protocol OwnedTask: Sendable {
  func cancel()
  func escalate(to priority: TaskPriority)
  /// What tells it from all other tasks as long as it lives.
  var address: UInt { get }
}

extension Task: OwnedTask {
  /// A task is one reference, and nothing else.
  @usableFromInline
  var address: UInt { unsafeBitCast(self, to: UInt.self) }

  @usableFromInline
  func escalate(to priority: TaskPriority) {
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
      escalatePriority(to: priority)
    }
  }
}
