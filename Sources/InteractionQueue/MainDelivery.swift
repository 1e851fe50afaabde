import Foundation
import Inturn

/// Delivers the engine's calls to the main thread, inside `OperationQueue.main`.
final class MainDelivery: Sendable {
  static let shared = MainDelivery()

  /// How many calls are made before others on the main queue get their turn.
  private static let portion = 16

  let executor: Handle

  private init() {
    let executor = Engine.createHostExecutor(label: "main", waker: nil)!
    self.executor = executor
    let (_, host) = Engine.hostExecutor(executor)
    host!.setWaker(HostExecutor.Waker(call: { _ in Self.schedule(executor) }))
  }

  private static func schedule(_ executor: Handle) {
    OperationQueue.main.addOperation {
      guard let host = Engine.hostExecutor(executor).1 else { return }
      let (_, calls) = host.drain(maximumCalls: portion)
      // The waker is only called when something waits where nothing did; this may be the rest.
      if calls >= portion { schedule(executor) }
    }
  }
}
