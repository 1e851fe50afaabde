import CInturn
import InturnCore

@_cdecl("inturn_status_name") @implementation
public func inturn_status_name(_ status: inturn_status) -> UnsafePointer<CChar> {
  let text: StaticString =
    switch status {
    case INTURN_OK: "INTURN_OK"
    case INTURN_E_INVALID_ARGUMENT: "INTURN_E_INVALID_ARGUMENT"
    case INTURN_E_NULL_HANDLE: "INTURN_E_NULL_HANDLE"
    case INTURN_E_STALE: "INTURN_E_STALE"
    case INTURN_E_WRONG_KIND: "INTURN_E_WRONG_KIND"
    case INTURN_E_ALREADY_FINISHED: "INTURN_E_ALREADY_FINISHED"
    case INTURN_E_CLOSED: "INTURN_E_CLOSED"
    case INTURN_E_FULL: "INTURN_E_FULL"
    case INTURN_E_NOT_SUSPENDED: "INTURN_E_NOT_SUSPENDED"
    case INTURN_E_TIMED_OUT: "INTURN_E_TIMED_OUT"
    case INTURN_E_CANCELLED: "INTURN_E_CANCELLED"
    case INTURN_E_DEADLOCK: "INTURN_E_DEADLOCK"
    case INTURN_E_WRONG_THREAD: "INTURN_E_WRONG_THREAD"
    case INTURN_E_FORKED: "INTURN_E_FORKED"
    case INTURN_E_NO_MEMORY: "INTURN_E_NO_MEMORY"
    case INTURN_E_UNSUPPORTED: "INTURN_E_UNSUPPORTED"
    case INTURN_E_BUSY: "INTURN_E_BUSY"
    default: "INTURN_E_UNKNOWN"
    }
  return staticText(text)
}

@_cdecl("inturn_status_message") @implementation
public func inturn_status_message(_ status: inturn_status) -> UnsafePointer<CChar> {
  let text: StaticString =
    switch status {
    case INTURN_OK: "The call succeeded."
    case INTURN_E_INVALID_ARGUMENT: "An argument is NULL, out of range or malformed."
    case INTURN_E_NULL_HANDLE: "The handle is null."
    case INTURN_E_STALE: "The handle's object no longer exists, or the bits were never a handle."
    case INTURN_E_WRONG_KIND: "The handle or the value is not of the kind that the call needs."
    case INTURN_E_ALREADY_FINISHED: "The operation has already ended."
    case INTURN_E_CLOSED: "The queue is closed."
    case INTURN_E_FULL: "The queue is full."
    case INTURN_E_NOT_SUSPENDED: "The queue is not suspended."
    case INTURN_E_TIMED_OUT: "The timeout passed before what the call waits for had happened."
    case INTURN_E_CANCELLED: "The operation has already been asked to end."
    case INTURN_E_DEADLOCK: "The call would wait for itself."
    case INTURN_E_WRONG_THREAD: "Another call drains the executor, or this is the wrong thread."
    case INTURN_E_FORKED: "The handle was made by the parent process, before a fork."
    case INTURN_E_NO_MEMORY: "Out of memory, threads or file descriptors."
    case INTURN_E_UNSUPPORTED: "Not supported for this object or on this system."
    case INTURN_E_BUSY: "The object is in use, or what was asked for is not available yet."
    default: "Not a status of this version."
    }
  return staticText(text)
}

/// The address of a literal, which ends with a zero and is never freed.
private func staticText(_ text: StaticString) -> UnsafePointer<CChar> {
  UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
}

extension inturn_status {
  /// The engine's statuses have the header's numbers.
  @inline(__always)
  init(_ status: Status) { self.init(rawValue: status.rawValue) }
}
