import Inturn
import Synchronization

/// The queue on which a worker tells a value's observers; made when it is first needed.
@usableFromInline
final class LateDelivery: Sendable {
  /// The bits of the queue's handle, zero before there is one. Who makes one stores it with
  /// releasing order.
  private let queue = Atomic<UInt64>(0)

  deinit {
    let bits = queue.load(ordering: .relaxed)
    if bits != 0 { _ = Engine.destroy(queue: Handle(bits: bits)) }
  }

  /// Has a worker call the body. What is enqueued keeps the queue, so that nothing of it is lost
  /// when the value goes. False when there is no queue to be had, as in a forked child, or without
  /// memory.
  func enqueue(_ body: @escaping () -> Void) -> Bool {
    guard let queue = current() else { return false }
    let work = { withExtendedLifetime(self) { body() } }
    return QueuedCall(work: work, onLoss: work).enqueue(on: queue) == .ok
  }

  /// The same after all that was enqueued. False, too, when nothing was.
  func enqueueLast(_ body: @escaping () -> Void) -> Bool {
    queue.load(ordering: .acquiring) != 0 && enqueue(body)
  }

  private func current() -> Handle? {
    let bits = queue.load(ordering: .acquiring)
    if bits != 0 { return Handle(bits: bits) }
    let none = Handle(bits: 0)
    let (status, made) = Engine.createQueue(
      QueueOptions(kind: .fifo), executor: none, clock: none)
    guard status == .ok else { return nil }
    let (exchanged, original) = queue.compareExchange(
      expected: 0, desired: made.bits, ordering: .acquiringAndReleasing)
    if exchanged { return made }
    _ = Engine.destroy(queue: made)
    return Handle(bits: original)
  }
}
