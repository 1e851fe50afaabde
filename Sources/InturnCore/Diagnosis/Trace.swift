import CInturnSystem

/// What the recorder keeps, from its start to the file.
package enum Trace {
  /// Starts recording, in about this much memory; 0 for 16 MiB.
  package static func start(bytes: Int) -> Status {
    guard (0...Recorder.mostBytes).contains(bytes) else { return .invalidArgument }
    guard Engine.isThere, Recorder.start(bytes: bytes == 0 ? 16 << 20 : bytes) else {
      return .noMemory
    }
    // A lane that is made meanwhile sees that the recorder is on, or is seen here.
    let engine = Engine.current
    for index in engine.pointee.lanes.givenOut {
      guard let lane = engine.pointee.lanes.pointer(at: index) else { continue }
      lane.pointee.lock.lock()
      lane.pointee.machine.flags.insert(.recorded)
      lane.pointee.lock.unlock()
    }
    return .ok
  }

  package static func stop() { Recorder.stop() }

  /// Writes what was recorded as a file for Perfetto and Chrome.
  package static func write(to descriptor: Int32) -> Status {
    guard Engine.isThere else { return .noMemory }
    var status = Status.ok
    let hasMemory = Recorder.read { trace in
      trace.queue_label = { key, room, size in
        Lane.Pointer(traced: key).copyLabel(
          ofTraced: key, to: UnsafeMutableRawBufferPointer(start: room, count: Int(size)))
      }
      trace.executor_label = { key, room, size in
        let handle = Handle(bits: key | Handle.tag(.executor) << 56)
        guard let executor = Engine.withObjects({ $0.executors.find(handle).1 }) else {
          return false
        }
        var name =
          executor.label ?? (handle == Engine.current.pointee.poolHandle ? "worker pool" : "")
        if handle == Engine.current.pointee.mainExecutorHandle { name = "main executor" }
        name.withUTF8 { name in
          cutText(name, to: UnsafeMutableRawBufferPointer(start: room, count: Int(size)))
        }
        return true
      }
      trace.site = { number, file, function, line in
        guard let found = Site(bits: UInt32(number)).line else { return false }
        file.pointee = found.file
        function.pointee = found.function
        line.pointee = found.number
        return true
      }
      let fault = inturn_system_trace_write(descriptor, &trace)
      if fault != 0 { status = fault == ENOMEM ? .noMemory : .invalidArgument }
      return true
    }
    return hasMemory ? status : .noMemory
  }
}
