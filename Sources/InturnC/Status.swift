import CInturn
import InturnCore

@_cdecl("inturn_status_name") @implementation
public func inturn_status_name(_ status: inturn_status) -> UnsafePointer<CChar> {
  let text: StaticString =
    switch Status(rawValue: status.rawValue) {
    case .ok: "INTURN_OK"
    case .invalidArgument: "INTURN_E_INVALID_ARGUMENT"
    case .nullHandle: "INTURN_E_NULL_HANDLE"
    case .stale: "INTURN_E_STALE"
    case .wrongKind: "INTURN_E_WRONG_KIND"
    case .alreadyFinished: "INTURN_E_ALREADY_FINISHED"
    case .closed: "INTURN_E_CLOSED"
    case .full: "INTURN_E_FULL"
    case .notSuspended: "INTURN_E_NOT_SUSPENDED"
    case .timedOut: "INTURN_E_TIMED_OUT"
    case .cancelled: "INTURN_E_CANCELLED"
    case .deadlock: "INTURN_E_DEADLOCK"
    case .wrongThread: "INTURN_E_WRONG_THREAD"
    case .forked: "INTURN_E_FORKED"
    case .noMemory: "INTURN_E_NO_MEMORY"
    case .unsupported: "INTURN_E_UNSUPPORTED"
    case .busy: "INTURN_E_BUSY"
    case nil: "INTURN_E_UNKNOWN"
    }
  return staticText(text)
}

@_cdecl("inturn_status_message") @implementation
public func inturn_status_message(_ status: inturn_status) -> UnsafePointer<CChar> {
  let text: StaticString =
    switch Status(rawValue: status.rawValue) {
    case .ok: "The call has done what it says."
    case .invalidArgument: "An argument is NULL, out of range or malformed."
    case .nullHandle: "The handle is null."
    case .stale: "The handle's object is gone, or the bits were never a handle."
    case .wrongKind: "The handle is of another kind than the call needs."
    case .alreadyFinished: "The operation has ended already."
    case .closed: "The queue is closed."
    case .full: "The queue is full."
    case .notSuspended: "The queue is not suspended."
    case .timedOut: "The time was over before what was waited for happened."
    case .cancelled: "The operation was asked to end already."
    case .deadlock: "The call would wait for itself."
    case .wrongThread: "The executor is drained by another call, or on the wrong thread."
    case .forked: "The handle was made before a fork, in the parent process."
    case .noMemory: "Out of memory, threads or file descriptors."
    case .unsupported: "Not available for this object, or on this system."
    case .busy: "The object is still used by another one."
    case nil: "The number is not a status of this version."
    }
  return staticText(text)
}

/// The address of a literal, which is terminated by a zero and never goes away.
private func staticText(_ text: StaticString) -> UnsafePointer<CChar> {
  UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}

extension inturn_status {
  /// The engine's statuses have the header's numbers.
  @inline(__always)
  init(_ status: Status) { self.init(rawValue: status.rawValue) }
}
