import Inturn

/// Operations whose tasks are cancelled together.
@usableFromInline
final class TaskRegistry: @unchecked Sendable {
  // Safe to share: `lock` protects `frames`. No function is called while it is held.

  private let lock = BriefLock()
  @exclusivity(unchecked) private var frames: [ObjectIdentifier: OwnedFrame] = [:]

  func add(_ frame: OwnedFrame) {
    lock.withLock { frames[ObjectIdentifier(frame)] = frame }
  }

  func remove(_ frame: OwnedFrame) {
    _ = lock.withLock { frames.removeValue(forKey: ObjectIdentifier(frame)) }
  }

  /// Cancels the tasks of all frames, including those that are just being created. Running ones
  /// come last: the end of one must not let another begin that has not been cancelled yet.
  func cancelAll() {
    var frames = lock.withLock { self.frames.values.map(\.self) }
    _ = frames.partition { $0.hasStarted }
    for frame in frames { frame.askToEnd() }
  }
}
