import Foundation
import InturnCore
import Synchronization

/// The right to end an interaction that is on screen: its finish token.
///
/// Keep it for as long as the interaction lasts. When its last reference goes away and the
/// interaction has not been ended, it ends as abandoned: a report names the line that added it, and
/// the queue goes on.
///
/// All members may be used from any thread.
public final class Presentation: Sendable {
  private let token: Handle
  /// Whether somebody has ended it here, or has tried to.
  private let isUsed = Atomic(false)

  init(_ token: Handle) { self.token = token }

  deinit { _ = Engine.abandon(token) }

  /// Marks the interaction as finished. False when it has ended already; then nothing happens.
  @discardableResult
  public func finish() -> Bool { use { Engine.end(token, as: .finished) } }

  /// Ends the interaction as cancelled: it gives in. False when it has ended already.
  @discardableResult
  public func cancel() -> Bool { use { Engine.end(token, as: .cancelled) } }

  /// Gives way to an urgent interaction: call it when what was shown has been taken down. The
  /// interaction is presented again afterwards, with another `Presentation`, before all that are not
  /// urgent. False when it has ended already.
  @discardableResult
  public func yield() -> Bool { use { Engine.yield(token) } }

  /// Whether the interaction was asked to end, or has been cut off by a deadline.
  public var isCancelled: Bool { Engine.isCancelled(token).1 }

  /// Sets what is called on the main thread when the interaction is asked to end, or cut off by a
  /// deadline; soon, when that has happened already. A later handler replaces an earlier one. Called
  /// at most once; without effect once the interaction was ended here.
  ///
  /// A handler that held the presentation would keep it from being noticed as lost: it ends the
  /// interaction by its parameter, as with `presentation.onCancel { $0.cancel() }`.
  public func onCancel(_ handler: @escaping @MainActor @Sendable (Reply) -> Void) {
    let reply = Reply(presentation: self)
    let context = Handler.context { handler(reply) }
    let status = Engine.onCancel(
      token, handler: Handler.call, context: context, destroy: Handler.drop)
    if status == .ok { return }
    Handler.drop(context)
    // It has been cut off: a handler cannot be set any more.
    if !isUsed.load(ordering: .acquiring) {
      OperationQueue.main.addOperation { MainActor.assumeIsolated { handler(reply) } }
    }
  }

  /// Sets what is called on the main thread when an urgent interaction wants this one's place.
  ///
  /// What the interaction makes of it is its own affair: it may take down what it shows and then
  /// yield, or end, or go on. It does so by the handler's parameter, which does not keep the
  /// presentation.
  public func onPreempt(_ handler: @escaping @MainActor @Sendable (Reply) -> Void) {
    let reply = Reply(presentation: self)
    let context = Handler.context { handler(reply) }
    let status = Engine.onPreempt(
      token, handler: Handler.call, context: context, destroy: Handler.drop)
    if status != .ok { Handler.drop(context) }
  }

  /// What a handler answers with: the presentation, as long as somebody else holds it.
  public struct Reply: Sendable {
    fileprivate weak let presentation: Presentation?

    /// Marks the interaction as finished. False when it has ended already.
    @discardableResult
    public func finish() -> Bool { presentation?.finish() ?? false }

    /// Ends the interaction as cancelled: it gives in. False when it has ended already.
    @discardableResult
    public func cancel() -> Bool { presentation?.cancel() ?? false }

    /// Gives way to an urgent interaction; see ``Presentation/yield()``.
    @discardableResult
    public func yield() -> Bool { presentation?.yield() ?? false }
  }

  private func use(_ end: () -> Status) -> Bool {
    isUsed.store(true, ordering: .releasing)
    return end() == .ok
  }

  /// A handler as the engine keeps it.
  private final class Handler: Sendable {
    private let body: @MainActor @Sendable () -> Void

    private init(_ body: @escaping @MainActor @Sendable () -> Void) { self.body = body }

    /// A context with a reference, which `drop` gives back.
    static func context(_ body: @escaping @MainActor @Sendable () -> Void)
      -> UnsafeMutableRawPointer
    {
      Unmanaged.passRetained(Handler(body)).toOpaque()
    }

    static let call: RawWork = { context, _ in
      let handler = Unmanaged<Handler>.fromOpaque(context!).takeUnretainedValue()
      MainActor.assumeIsolated { handler.body() }
    }

    static let drop: RawDestroy = { Unmanaged<Handler>.fromOpaque($0!).release() }
  }
}
