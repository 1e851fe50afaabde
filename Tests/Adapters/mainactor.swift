// A Swift library for a C program or Python to load: it does not know Inturn, and expects that the
// main queue is drained.
import Dispatch

@MainActor
private var count = 0

@MainActor
private func add() async -> Int32 {
  await Task.yield()
  MainActor.assertIsolated("not on the main actor")
  count += 1
  return Int32(count)
}

/// Adds this many times on the main actor, each time from another thread, and calls `done` there
/// with the count.
@_cdecl("mainactor_add")
public func mainactor_add(
  _ times: Int32, _ context: UInt, _ done: @convention(c) @Sendable (UInt, Int32) -> Void
) {
  Task.detached {
    var last: Int32 = 0
    for _ in 0..<times { last = await add() }
    let result = last
    await MainActor.run { done(context, result) }
  }
}

/// Calls `done` on the main queue.
@_cdecl("mainactor_async")
public func mainactor_async(
  _ context: UInt, _ done: @convention(c) @Sendable (UInt, Int32) -> Void
) {
  DispatchQueue.global().async {
    DispatchQueue.main.async { done(context, -1) }
  }
}

@MainActor
private var isStorming = false

private func stormOn() {
  DispatchQueue.main.async {
    if MainActor.assumeIsolated({ isStorming }) { stormOn() }
  }
}

/// Begins or ends work on the main queue that always adds itself again. Call on the main thread.
@_cdecl("mainactor_storm")
public func mainactor_storm(_ begins: Bool) {
  MainActor.assumeIsolated { isStorming = begins }
  if begins { stormOn() }
}
