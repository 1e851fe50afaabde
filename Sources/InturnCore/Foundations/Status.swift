/// The result of a call: ok, or why it was refused. The numbers are those of `inturn_status`.
///
/// A struct rather than an enum, so that other modules inline access to its number.
package struct Status: Equatable {
  package let rawValue: Int32

  @inline(__always)
  package init(rawValue: Int32) { self.rawValue = rawValue }

  @inline(__always)
  package static func == (left: Status, right: Status) -> Bool { left.rawValue == right.rawValue }

  package static var ok: Status { Status(rawValue: 0) }
  package static var invalidArgument: Status { Status(rawValue: -1) }
  package static var nullHandle: Status { Status(rawValue: -2) }
  package static var stale: Status { Status(rawValue: -3) }
  package static var wrongKind: Status { Status(rawValue: -4) }
  package static var alreadyFinished: Status { Status(rawValue: -5) }
  package static var closed: Status { Status(rawValue: -6) }
  package static var full: Status { Status(rawValue: -7) }
  package static var notSuspended: Status { Status(rawValue: -8) }
  package static var timedOut: Status { Status(rawValue: -9) }
  package static var cancelled: Status { Status(rawValue: -10) }
  package static var deadlock: Status { Status(rawValue: -11) }
  package static var wrongThread: Status { Status(rawValue: -12) }
  package static var forked: Status { Status(rawValue: -13) }
  package static var noMemory: Status { Status(rawValue: -14) }
  package static var unsupported: Status { Status(rawValue: -15) }
  package static var busy: Status { Status(rawValue: -16) }
}

/// How an operation ended. The numbers are those of `inturn_outcome`.
package enum Outcome: UInt8, CaseIterable {
  case finished = 1
  case failed, cancelled, timedOut, abandoned
}

/// Why an operation ended, unless its token alone ended it. The numbers are those of
/// `inturn_cause`.
package enum Cause: UInt8, CaseIterable {
  case none, request, grace, destroyed, maxWait, maxRun, dependency, skipped, condition,
    resolved, joined, owner
}

/// The state of an operation. The numbers are those of `inturn_operation_state`.
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
