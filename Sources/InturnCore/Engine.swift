import CInturnSystem
import Synchronization

/// The process's engine: its tables, its pool, its clock. Created on first use; a forked child
/// creates its own and leaves its parent's alone.
///
/// Nothing in it changes except under its members' own locks.
package struct EngineStorage: ~Copyable {
  // First, what is read from outside: see `CInturnSystem/Layout.h`.
  let operations: Slab<OperationSlot>
  let lanes: Slab<Lane>
  let objects: EngineObjects
  let pool: WorkerPool
  let systemClock: Clock
  let waits = WaitGraph.Storage()
  let values: ObjectSlab<ValueObject>
  let observations: ObjectSlab<ObservationObject>
  let chunks = ChunkPool()
  let leanDetails = LeanDetailsPool()
  let batchMemory = BatchMemory()
  /// How many slots are gates rather than operations. Only a statistic: relaxed.
  let gates = Atomic<Int>(0)
  let names = NameRegistry()
  let sleepers = Sleepers()
  let reportHandler = Locked<ReportHandler?>(nil)
  let watchdog = Watchdog(.ofEnvironment)
  /// Whether the watchdog looks. Relaxed: after the watchdog has cleared it, it takes the lock of
  /// the lanes' slab and of each lane, so whoever takes one of them later sees that.
  let isAttended = Atomic<Bool>(false)
  /// The system clock, to be read without retaining it.
  let systemClockReference: Unmanaged<Clock>
  let poolReference: Unmanaged<WorkerPool>
  let mainExecutor: HostExecutor
  /// The engine of the nearest ancestor process that had one; kept, not used.
  let inherited: UInt
  /// The round of epochs in which it was created.
  let round = ProcessState.round
  /// Handles have indices above this, and those of earlier rounds below. Epochs repeat, but no
  /// handle ever does. A multiple of `indexStep`.
  let indexFloor: UInt32
  private let directories: SlabDirectories
  let poolHandle: Handle
  let mainExecutorHandle: Handle
  /// The waits that tasks have begun by calls.
  let awaits: ObjectSlab<WaitGraph.Wait>

  fileprivate init?() {
    inherited = Engine.inherited.pointee.load(ordering: .relaxed)
    indexFloor = Self.indexFloor(after: Engine.Pointer(bitPattern: inherited))
    // After some hundred thousand nested forks, the indices are used up as well.
    guard indexFloor < Handle.maximumIndex, let directories = SlabDirectories(9)
    else { return nil }
    let objects = EngineObjects(above: indexFloor, directories)
    let systemClock = Clock(isManual: false)
    let size = Engine.poolSize
    let pool = WorkerPool(target: size, maximum: size + 64, label: nil, clock: systemClock)
    let mainExecutor = HostExecutor(isMain: true)
    guard let poolHandle = objects.add(pool), let mainExecutorHandle = objects.add(mainExecutor)
    else { return nil }
    operations = Slab(above: indexFloor, directories)
    lanes = Slab(above: indexFloor, directories)
    values = ObjectSlab(.value, above: indexFloor, directories)
    observations = ObjectSlab(.observation, above: indexFloor, directories)
    awaits = ObjectSlab(.await, above: indexFloor, directories)
    self.objects = objects
    self.directories = directories
    self.systemClock = systemClock
    self.pool = pool
    self.mainExecutor = mainExecutor
    self.poolHandle = poolHandle
    self.mainExecutorHandle = mainExecutorHandle
    systemClockReference = .passUnretained(systemClock)
    poolReference = .passUnretained(pool)
  }

  private static var indexStep: UInt32 { 1 << 12 }

  /// Within a round, the floor stays. A new round's floor is above every index that a process of
  /// the last round has used, and one step more, as the memory of a forked child is not a
  /// consistent snapshot.
  private static func indexFloor(after parent: Engine.Pointer?) -> UInt32 {
    guard let parent else { return 0 }
    let round = parent.pointee.round
    if round == ProcessState.round { return parent.pointee.indexFloor }
    var highest: UInt32 = 0
    var next: Engine.Pointer? = parent
    while let engine = next, engine.pointee.round == round {
      highest = max(highest, engine.pointee.highestIndex)
      next = Engine.Pointer(bitPattern: engine.pointee.inherited)
    }
    return (highest / indexStep + 2) * indexStep
  }

  private var highestIndex: UInt32 {
    max(
      operations.highestIndex, lanes.highestIndex, values.highestIndex, observations.highestIndex,
      awaits.highestIndex, objects.highestIndex)
  }
}

/// Objects with handles that others may use.
final class EngineObjects: @unchecked Sendable {
  // Safe to share: the slabs never change, and `lock` protects the users of the objects in them.

  let lock = BriefLock()
  let executors: ObjectSlab<Executor>
  let clocks: ObjectSlab<Clock>
  let owners: ObjectSlab<Owner>
  let batches: ObjectSlab<Batch>

  init(above floor: UInt32, _ directories: SlabDirectories) {
    executors = ObjectSlab(.executor, above: floor, directories)
    clocks = ObjectSlab(.clock, above: floor, directories)
    owners = ObjectSlab(.owner, above: floor, directories)
    batches = ObjectSlab(.batch, above: floor, directories)
  }

  /// Nil when memory runs out, as of the slabs.
  func add(_ executor: Executor) -> Handle? {
    guard let handle = executors.add(executor) else { return nil }
    executor.handle = handle
    return handle
  }

  /// Removes a released clock that no queue uses. With the lock.
  func removeUnused(_ clock: Clock) {
    // One from before a fork has a stale handle.
    if clock.isReleased && clock.users == 0 { _ = clocks.remove(clock.handle) }
  }

  var highestIndex: UInt32 {
    max(executors.highestIndex, clocks.highestIndex, owners.highestIndex, batches.highestIndex)
  }
}

package enum Engine {
  package typealias Pointer = UnsafeMutablePointer<EngineStorage>

  /// The engine in use, created if there is none.
  @inline(__always)
  package static var current: Pointer {
    existing ?? begin()
  }

  /// The same, but nil before the first use.
  @inline(__always)
  static var existing: Pointer? { Pointer(bitPattern: address.pointee.load(ordering: .acquiring)) }

  /// Whether there is an engine; creates one if possible.
  package static var isThere: Bool { (existing ?? make()) != nil }

  /// Whether a call that can be refused may go on; checked before it changes anything.
  @inline(__always)
  package static var hasMemory: Bool { inturn_system_has_memory() && isThere }

  /// The address of the engine, exchanged with releasing order once it is complete. Zero before the
  /// first use, also in a forked child, where `inherited` is the parent's.
  private static var address: UnsafeMutablePointer<Atomic<UInt>> {
    atomic(inturn_system_engine())
  }
  fileprivate static var inherited: UnsafeMutablePointer<Atomic<UInt>> {
    atomic(inturn_system_inherited_engine())
  }

  private static func begin() -> Pointer {
    guard let engine = make() else { inturn_system_end_without_memory() }
    return engine
  }

  /// Nil when memory runs out.
  @inline(never)
  private static func make() -> Pointer? {
    guard let engine = EngineStorage() else { return nil }
    let new = Pointer.allocate(capacity: 1)
    new.initialize(to: engine)
    let (exchanged, existing) = address.pointee.compareExchange(
      expected: 0, desired: UInt(bitPattern: new), ordering: .acquiringAndReleasing)
    if !exchanged {
      // Another thread was first, and nothing refers to this engine yet but its own executors.
      _ = new.pointee.objects.executors.remove(new.pointee.poolHandle)
      _ = new.pointee.objects.executors.remove(new.pointee.mainExecutorHandle)
      new.deinitialize(count: 1)
      new.deallocate()
      return Pointer(bitPattern: existing)!
    }
    // A child inherits its parent's handler and registers another one, which changes nothing.
    atexit {
      ProcessState.beginExit()
      Engine.existing?.pointee.sleepers.wakeAll()
      inturn_system_answers_end()
    }
    Answers.begin()
    return new
  }

  /// `INTURN_WORKERS`, else the number of processors, at least two. One that is malformed is said.
  fileprivate static var poolSize: Int {
    if let text = getenv("INTURN_WORKERS"), text.pointee != 0 {
      var end: UnsafeMutablePointer<CChar>?
      let number = strtol(text, &end, 10)
      if end!.pointee == 0 && (1...1024).contains(number) { return number }
      Report.write("inturn: INTURN_WORKERS: it is not a number from 1 to 1024\n")
    }
    return max(2, Int(inturn_system_processors()))
  }
}
