import CInturnSystem
import Synchronization

/// The process's engine: its tables, its pool, its clock. Made at the first use; a forked child
/// makes its own and leaves its parent's alone.
///
/// Nothing in it changes but behind the members' own locks.
package struct EngineStorage: ~Copyable {
  let operations: Slab<OperationSlot>
  let lanes: Slab<Lane>
  let values: ObjectSlab<ValueObject>
  let observations: ObjectSlab<ObservationObject>
  let chunks = ChunkPool()
  let leanDetails = LeanDetailsPool()
  let batchMemory = BatchMemory()
  /// How many slots are gates, not operations. Only a statistic: relaxed.
  let gates = Atomic<Int>(0)
  /// How many lanes have no queue any more and are not given back yet. The same.
  let goneLanes = Atomic<Int>(0)
  let waits = WaitGraph.Storage()
  let names = NameRegistry()
  let reportHandler = ReportHandler.Holder()
  let systemClock: Clock
  let pool: WorkerPool
  /// The same, to be looked at without a reference.
  let poolReference: Unmanaged<WorkerPool>
  let mainExecutor: HostExecutor
  let objects = EngineObjects()
  /// The engine of the process that this one was forked from; kept, not used.
  let inherited: UInt
  let poolHandle: Handle
  let mainExecutorHandle: Handle

  fileprivate init?() {
    guard let operations = Slab<OperationSlot>(), let lanes = Slab<Lane>(),
      let values = ObjectSlab<ValueObject>(kind: .value),
      let observations = ObjectSlab<ObservationObject>(kind: .observation)
    else { return nil }
    self.operations = operations
    self.lanes = lanes
    self.values = values
    self.observations = observations
    systemClock = Clock(isManual: false)
    let size = Engine.poolSize
    pool = WorkerPool(target: size, maximum: size + 64, label: nil, clock: systemClock)
    poolReference = .passUnretained(pool)
    mainExecutor = HostExecutor(isMain: true)
    poolHandle = objects.executors.add(pool)
    mainExecutorHandle = objects.executors.add(mainExecutor)
    inherited = inheritedAddress.load(ordering: .relaxed)
  }
}

/// What is named by handles and is not in a slab.
final class EngineObjects: @unchecked Sendable {
  // Safe to share: `lock` protects the tables, and the `users` of what is in them.

  let lock = BriefLock()
  @exclusivity(unchecked) var executors = ObjectTable<Executor>(kind: .executor)
  @exclusivity(unchecked) var clocks = ObjectTable<Clock>(kind: .clock)
  @exclusivity(unchecked) var owners = ObjectTable<Owner>(kind: .owner)
  @exclusivity(unchecked) var batches = ObjectTable<Batch>(kind: .batch)
}

package enum Engine {
  package typealias Pointer = UnsafeMutablePointer<EngineStorage>

  /// The engine in use.
  @inline(__always)
  package static var current: Pointer {
    if let engine = Pointer(bitPattern: engineAddress.load(ordering: .acquiring)) { return engine }
    return make()
  }

  /// Whether this process, or one that it was forked from, was a child of the library's.
  static var wasForked: Bool { forkCount.load(ordering: .relaxed) > 0 }

  @inline(never)
  private static func make() -> Pointer {
    guard let engine = EngineStorage() else { fatalError("Inturn: no memory to begin with") }
    let new = Pointer.allocate(capacity: 1)
    new.initialize(to: engine)
    let (exchanged, existing) = engineAddress.compareExchange(
      expected: 0, desired: UInt(bitPattern: new), ordering: .acquiringAndReleasing)
    if !exchanged {
      // Another thread was first; nothing refers to this one yet.
      new.deinitialize(count: 1)
      new.deallocate()
      return Pointer(bitPattern: existing)!
    }
    if !areHooksSet.exchange(true, ordering: .relaxed) {
      inturn_system_stay_loaded()
      pthread_atfork(nil, nil) {
        ProcessState.becomeChild()
        forkCount.wrappingAdd(1, ordering: .relaxed)
        inheritedAddress.store(engineAddress.load(ordering: .relaxed), ordering: .relaxed)
        engineAddress.store(0, ordering: .relaxed)
        inturn_system_set_frame(nil)
      }
      atexit { ProcessState.beginExit() }
    }
    return new
  }

  /// `INTURN_WORKERS`, else the number of processors, at least two.
  fileprivate static var poolSize: Int {
    if let text = getenv("INTURN_WORKERS") {
      var end: UnsafeMutablePointer<CChar>?
      let number = strtol(text, &end, 10)
      if end != text && end!.pointee == 0 && (1...1024).contains(number) { return number }
    }
    return max(2, Int(inturn_system_processors()))
  }
}

/// The address of the engine, zero before the first use. Stored with releasing order once it is
/// complete.
private let engineAddress = Atomic<UInt>(0)
/// In a forked child, the address of the engine that it does not use.
private let inheritedAddress = Atomic<UInt>(0)
private let forkCount = Atomic<UInt32>(0)
private let areHooksSet = Atomic<Bool>(false)
