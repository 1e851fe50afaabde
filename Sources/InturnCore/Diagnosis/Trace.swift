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
      _ = lane.pointee.lock.withLock { lane.pointee.machine.flags.insert(.recorded) }
    }
    return .ok
  }

  package static func stop() { Recorder.stop() }

  /// Writes what was recorded as a file for Perfetto and Chrome. -1: where the environment asks for it.
  package static func write(to descriptor: Int32) -> Status {
    guard Engine.isThere else { return .noMemory }
    if descriptor == -1 { return inturn_system_write_asked_trace() ? .ok : .unsupported }
    var status = Status.ok
    let hasMemory = read { trace in
      let fault = inturn_system_trace_write(descriptor, &trace)
      if fault != 0 { status = fault == ENOMEM ? .noMemory : .invalidArgument }
    }
    return hasMemory ? status : .noMemory
  }

  /// The last steps of the links' queues, or of all, a line each, in memory that the caller frees;
  /// nil when there are none. No lock is held.
  @inline(never)
  package static func lastSteps(of stall: Stall?) -> UnsafeMutablePointer<CChar>? {
    if !Recorder.isUsed { return nil }
    let size = 1 << 14
    let bytesOfKeys = Stall.mostLinks * MemoryLayout<UInt64>.stride
    guard let room = malloc(size + bytesOfKeys) else { return nil }
    let text = room.bindMemory(to: CChar.self, capacity: size)
    let keys = (room + size).bindMemory(to: UInt64.self, capacity: Stall.mostLinks)
    var count = 0
    for link in stall?.links ?? [] {
      (keys + count).initialize(to: link.traceKey)
      count += 1
    }
    var length: UInt64 = 0
    _ = read { trace in
      length = inturn_system_trace_steps(
        &trace, stall == nil ? nil : keys, UInt64(count), text, UInt64(size))
    }
    if length > 0 { return text }
    free(room)
    return nil
  }

  /// Calls `body` with what was recorded, and the names for it. False when there is no memory.
  private static func read(_ body: (inout inturn_system_trace) -> Void) -> Bool {
    Recorder.read { trace in
      trace.queue_label = { key, room, size in
        Lane.Pointer(traced: key).copyLabel(
          ofTraced: key, to: UnsafeMutableRawBufferPointer(start: room, count: Int(size)))
      }
      trace.executor_label = { key, room, size in
        let handle = Handle(bits: key | Handle.tag(.executor) << 56)
        guard let executor = Engine.current.pointee.objects.executors.find(handle).1 else {
          return false
        }
        var name =
          executor.label ?? (handle == Engine.current.pointee.poolHandle ? "worker pool" : "")
        if handle == Engine.current.pointee.mainExecutorHandle { name = "main executor" }
        name.withCString {
          cutText($0, to: UnsafeMutableRawBufferPointer(start: room, count: Int(size)))
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
      body(&trace)
    }
  }
}
