import Inturn
import Synchronization

/// The queue on which a worker tells a value's observers; created when first needed.
@usableFromInline
final class LateDelivery: Sendable {
  /// The bits of the queue's handle, zero before there is one. Stored with releasing order.
  private let queue = Atomic<UInt64>(0)

  deinit {
    let bits = queue.load(ordering: .relaxed)
    if bits != 0 { _ = Engine.destroy(queue: Handle(bits: bits)) }
  }

  /// Makes a worker call the body. An enqueued call retains the queue, so that none is lost when
  /// the value goes away. False when no queue can be created, as in a forked child or without
  /// memory.
  func enqueue(_ body: @escaping () -> Void) -> Bool {
    guard let queue = current() else { return false }
    let work = { withExtendedLifetime(self) { body() } }
    return QueuedCall(work: work, onLoss: work).enqueue(on: queue) == .ok
  }

  /// The same, after everything enqueued so far. Also false when nothing was.
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
