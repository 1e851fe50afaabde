/// Why a call was refused, or that it was not. The numbers are those of `inturn_status`.
package enum Status: Int32, CaseIterable {
  case ok = 0
  case invalidArgument = -1
  case nullHandle = -2
  case stale = -3
  case wrongKind = -4
  case alreadyFinished = -5
  case closed = -6
  case full = -7
  case notSuspended = -8
  case timedOut = -9
  case cancelled = -10
  case deadlock = -11
  case wrongThread = -12
  case forked = -13
  case noMemory = -14
  case unsupported = -15
  case busy = -16
}

/// How an operation ended. The numbers are those of `inturn_outcome`.
package enum Outcome: UInt8, CaseIterable {
  case finished = 1
  case failed, cancelled, timedOut, abandoned
}

/// Why an operation was cancelled or timed out. The numbers are those of `inturn_cause`.
package enum Cause: UInt8, CaseIterable {
  case none, request, grace, destroyed, maxWait, maxRun
}

/// Where an operation is. The numbers are those of `inturn_operation_state`.
package enum OperationState: Int32 {
  case pending = 1
  case running, ended
}

/// When the next operation of a queue starts. The numbers are those of `inturn_queue_kind`.
package enum QueueKind: UInt8, CaseIterable {
  case fifo = 1
  case actor, interaction, concurrent
}

/// Work as the engine calls it: a context, and the bits of the token.
package typealias RawWork = @convention(c) (UnsafeMutableRawPointer?, UInt64) -> Void
package typealias RawDestroy = @convention(c) (UnsafeMutableRawPointer?) -> Void
