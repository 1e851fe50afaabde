import CInturnSystem

/// Answers questions from outside the process, on a thread of its own; `CInturnSystem/Answers.c` says
/// when there is one.
enum Answers {
  /// Called once in each process. No lock is held.
  static func begin() {
    inturn_system_answers_begin(
      ProcessState.wasForked,
      { descriptor, format in
        if format == 0 { return Trace.write(to: descriptor) == .ok }
        return Dump.Format(rawValue: format).map { Dump.write(to: descriptor, as: $0) } ?? false
      },
      { descriptor, operation in
        let (status, report) = Engine.reason(forTold: Handle(bits: operation))
        guard let report else {
          return status.fault(ofQueue: Handle(bits: operation).isOf(.queue))
        }
        let line = report.message + "\n"
        _ = line.withCString { inturn_system_write(descriptor, $0, UInt(line.length)) }
        return nil
      })
    if inturn_system_is_trace_asked(ProcessState.wasForked) { _ = Trace.start(bytes: 0) }
  }
}

extension Status {
  fileprivate func fault(ofQueue isQueue: Bool) -> UnsafePointer<CChar> {
    let text: StaticString =
      switch self {
      case .alreadyFinished: isQueue ? "nothing is pending or running" : "it has ended"
      case .noMemory: "there is no memory to say why"
      default: "there is no such operation"
      }
    return UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self)
  }
}
