import CInturnSystem
import Synchronization

/// What has happened last, in memory of a fixed size; off until somebody starts it.
///
/// The memory is a ring of blocks. A thread that has something to record takes the oldest block
/// that no other thread is filling, and fills it alone: a record takes no lock and no cache line
/// that another thread writes. It takes one more call when a block is full, and none when the
/// recorder is off: then there is only `isOn` to look at, which lies beside the engine's address.
///
/// Blocks are read while they are written. A block's first word has the number of its turn: it
/// changes before anything of a new turn is written, so a reader that finds it the same before and
/// after has read what one thread wrote in one turn. Its last bit says that a thread has the block,
/// the one before that the block is being prepared, and not to be read.
struct Recorder {
  /// Numbers of `inturn_system_trace_kind`.
  enum Kind: UInt64 {
    case enqueued = 1
    case started, returned, ended, released, turn, moved, suspended, resumed, label, gone
  }

  private typealias Word = Atomic<UInt64>
  private typealias Block = UnsafeMutablePointer<Word>

  private let words: UnsafeMutablePointer<Word>

  // The first words of the memory.
  private var count: UInt64 { words[0].load(ordering: .relaxed) }
  /// How many turns blocks have been asked for. Relaxed: it only gives out numbers.
  private var turns: UnsafeMutablePointer<Word> { words + 1 }
  /// How many records found no block. Relaxed: a statistic.
  private var lost: UnsafeMutablePointer<Word> { words + 2 }
  /// When it was last started, in ticks: what is older is not told.
  private var since: UnsafeMutablePointer<Word> { words + 3 }
  /// From then on, in ticks, no record has been overwritten or found no room. It only grows, and is
  /// changed before a block's new turn is seen: a reader that misses the old turn knows of it.
  private var complete: UnsafeMutablePointer<Word> { words + 6 }
  private var firstTicks: UInt64 { words[4].load(ordering: .relaxed) }
  private var firstNanoseconds: UInt64 { words[5].load(ordering: .relaxed) }

  private static var wordsOfHead: Int { 8 }
  private static var wordsOfBlock: Int { 1024 }
  /// A block begins with its turn, how many records are complete, the thread, its name (two words),
  /// when it was given up, and how many blocks ago the thread was asked for its name.
  private static var wordsOfBlockHead: Int { 8 }
  /// To ask the system for a thread's name takes as long as 50 records.
  private static var blocksOfName: UInt64 { 16 }
  private static var recordsOfBlock: UInt64 {
    UInt64(wordsOfBlock - wordsOfBlockHead) / 4
  }

  static var bytesOfBlock: Int { wordsOfBlock * MemoryLayout<UInt64>.stride }
  static var mostBytes: Int { 1 << 40 }

  // MARK: Starting and stopping

  /// The recorder's memory while it is on, else zero. Stored with releasing order once the memory
  /// is ready, and loaded with acquiring order by who records.
  private static var recording: UnsafeMutablePointer<Atomic<UInt>> {
    atomic(inturn_system_recording())
  }

  /// The memory, once there is any; exchanged once in a process, and never freed, as a thread may
  /// be writing.
  private static var memory: UnsafeMutablePointer<Atomic<UInt>> {
    atomic(inturn_system_recorder())
  }

  @inline(__always)
  static var isOn: Bool { recording.pointee.load(ordering: .relaxed) != 0 }

  /// Whether it was ever started.
  static var isUsed: Bool { memory.pointee.load(ordering: .relaxed) != 0 }

  private init?(_ address: UInt) {
    guard let words = UnsafeMutablePointer<Word>(bitPattern: address) else { return nil }
    self.words = words
  }

  /// Starts recording, with memory of about this size, but at least two blocks, if there is none
  /// yet. Does nothing when it is on. False when memory runs out.
  static func start(bytes: Int) -> Bool {
    if isOn { return true }
    if memory.pointee.load(ordering: .acquiring) == 0 {
      inturn_system_prepare_ticks()
      // Zeroed memory from the allocator is untouched pages.
      let blocks = max(bytes / bytesOfBlock, 2)
      guard let new = calloc(blocks * wordsOfBlock + wordsOfHead, MemoryLayout<UInt64>.stride)
      else { return false }
      // The first record in each takes the time of fetching it, so they had better be large.
      inturn_system_expect_use(new, UInt(blocks * bytesOfBlock))
      let words = new.bindMemory(to: Word.self, capacity: blocks * wordsOfBlock + wordsOfHead)
      words[0].store(UInt64(blocks), ordering: .relaxed)
      words[4].store(inturn_system_ticks(), ordering: .relaxed)
      words[5].store(UInt64(inturn_system_now()), ordering: .relaxed)
      let isFirst = memory.pointee.compareExchange(
        expected: 0, desired: UInt(bitPattern: new), ordering: .acquiringAndReleasing
      ).exchanged
      if !isFirst { free(new) }
    }
    let address = memory.pointee.load(ordering: .acquiring)
    let recorder = Recorder(address).unsafelyUnwrapped
    recorder.since.pointee.store(inturn_system_ticks(), ordering: .relaxed)
    recorder.lost.pointee.store(0, ordering: .relaxed)
    recording.pointee.store(address, ordering: .releasing)
    return true
  }

  /// A thread that is in the middle of a record completes it.
  static func stop() { recording.pointee.store(0, ordering: .relaxed) }

  // MARK: Recording

  /// Records something, at a time or now; see `CInturnSystem/include/Trace.h` for the words. Does
  /// nothing when the recorder is off or all blocks are other threads'.
  @_optimize(speed)
  @inline(never)
  static func note(
    _ kind: Kind, _ lane: UInt64, _ operation: UInt64, _ other: UInt64, at time: UInt64? = nil
  ) {
    guard let recorder = Recorder(recording.pointee.load(ordering: .acquiring)),
      let (block, count) = recorder.room(for: 1)
    else { return }
    write(
      block, count, time ?? inturn_system_ticks(), lane >> 8 | kind.rawValue << 56,
      operation | lane << 56, other)
    // Releasing: who reads the count reads the record.
    block[1].store(count + 1, ordering: .releasing)
  }

  /// The same for what each operation has, once the recorder was found to be on: without a call,
  /// while the thread's block has room.
  @inline(__always)
  static func noteOften(
    _ kind: Kind, _ lane: UInt64, _ operation: UInt64, _ other: UInt64, at time: UInt64? = nil
  ) {
    guard let block = inturn_system_own_block()?.assumingMemoryBound(to: Word.self),
      case let count = block[1].load(ordering: .relaxed), count < recordsOfBlock
    else { return note(kind, lane, operation, other, at: time) }
    write(
      block, count, time ?? inturn_system_ticks(), lane >> 8 | kind.rawValue << 56,
      operation | lane << 56, other)
    block[1].store(count &+ 1, ordering: .releasing)
  }

  /// Records something that has a label; also when the recorder was stopped.
  @inline(never)
  static func note(
    _ kind: Kind, _ lane: UInt64, _ operation: UInt64, label: UnsafePointer<CChar>?
  ) {
    guard let recorder = Recorder(memory.pointee.load(ordering: .acquiring)),
      let (block, count) = recorder.room(for: 2)
    else { return }
    write(
      block, count, inturn_system_ticks(), lane >> 8 | kind.rawValue << 56, operation | lane << 56,
      0)
    var text: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    if let label { withUnsafeMutableBytes(of: &text) { cutText(label, to: $0) } }
    write(block, count + 1, text.0, text.1, text.2, text.3)
    block[1].store(count + 2, ordering: .releasing)
  }

  /// Atomic, as the block may be read; relaxed, as the count says what is complete.
  @inline(__always)
  private static func write(
    _ block: Block, _ place: UInt64, _ first: UInt64, _ second: UInt64, _ third: UInt64,
    _ fourth: UInt64
  ) {
    let record = block + wordsOfBlockHead + Int(truncatingIfNeeded: place &* 4)
    record[0].store(first, ordering: .relaxed)
    record[1].store(second, ordering: .relaxed)
    record[2].store(third, ordering: .relaxed)
    record[3].store(fourth, ordering: .relaxed)
  }

  /// The calling thread's block with room for as many records, and how many it has.
  @inline(__always)
  private func room(for records: UInt64) -> (Block, UInt64)? {
    if let block = inturn_system_own_block()?.assumingMemoryBound(to: Word.self) {
      let count = block[1].load(ordering: .relaxed)
      if count + records <= Self.recordsOfBlock { return (block, count) }
    }
    return takeBlock()
  }

  /// Gives the thread's block up and takes another one.
  @inline(never)
  private func takeBlock() -> (Block, UInt64)? {
    var thread: UInt64 = 0
    var name: (UInt64, UInt64) = (0, 0)
    var age: UInt64 = 0
    if let last = inturn_system_own_block() {
      let block = last.assumingMemoryBound(to: Word.self)
      thread = block[2].load(ordering: .relaxed)
      name = (block[3].load(ordering: .relaxed), block[4].load(ordering: .relaxed))
      age = (block[6].load(ordering: .relaxed) + 1) % Self.blocksOfName
      inturn_system_give_up_block(last.assumingMemoryBound(to: UInt64.self))
      inturn_system_set_own_block(nil)
    }
    for _ in 0..<count {
      let number = turns.pointee.wrappingAdd(1, ordering: .relaxed).newValue
      let block = words + Self.wordsOfHead + Int((number - 1) % count) * Self.wordsOfBlock
      // Acquiring: after all that the last thread wrote.
      let turn = block[0].load(ordering: .acquiring)
      if turn & 1 != 0 { continue }
      if turn != 0 {
        complete.pointee.max(block[5].load(ordering: .relaxed), ordering: .relaxed)
      }
      let isTaken = block[0].compareExchange(
        expected: turn, desired: number << 2 | 3, ordering: .acquiringAndReleasing
      ).exchanged
      if !isTaken { continue }
      // A reader that sees anything of this turn sees the new number.
      atomicMemoryFence(ordering: .releasing)
      block[1].store(0, ordering: .relaxed)
      if age == 0 {
        thread = withUnsafeMutableBytes(of: &name) {
          inturn_system_describe_thread($0.baseAddress!.assumingMemoryBound(to: CChar.self))
        }
      }
      block[2].store(thread, ordering: .relaxed)
      block[3].store(name.0, ordering: .relaxed)
      block[4].store(name.1, ordering: .relaxed)
      block[6].store(age, ordering: .relaxed)
      // Releasing: who reads the turn's records does not see the count of the last one.
      block[0].store(number << 2 | 1, ordering: .releasing)
      inturn_system_set_own_block(block)
      return (block, 0)
    }
    lost.pointee.wrappingAdd(1, ordering: .relaxed)
    complete.pointee.max(inturn_system_ticks(), ordering: .relaxed)
    return nil
  }

  // MARK: Reading

  /// Calls `body` with copies of what was recorded since the last start. False when there is no
  /// memory for them.
  static func read(_ body: (inout inturn_system_trace) -> Void) -> Bool {
    var trace = inturn_system_trace()
    trace.last_ticks = inturn_system_ticks()
    trace.last_ns = inturn_system_now()
    guard let recorder = Recorder(memory.pointee.load(ordering: .acquiring)) else {
      body(&trace)
      return true
    }
    trace.first_ticks = recorder.firstTicks
    trace.first_ns = Int64(recorder.firstNanoseconds)
    trace.since = recorder.since.pointee.load(ordering: .relaxed)
    trace.lost = recorder.lost.pointee.load(ordering: .relaxed)
    // A block that was never taken is left out.
    let used = Int(min(recorder.count, recorder.turns.pointee.load(ordering: .relaxed)))
    let size = MemoryLayout<inturn_system_trace_block>.stride + bytesOfBlock
    guard let memory = malloc(max(used, 1) * size) else { return false }
    defer { free(memory) }
    let blocks = memory.bindMemory(to: inturn_system_trace_block.self, capacity: used)
    var room = UnsafeMutableRawPointer(blocks + used).assumingMemoryBound(to: UInt64.self)
    var count = 0
    for place in 0..<used {
      let block = recorder.words + wordsOfHead + place * wordsOfBlock
      guard let copy = Self.copy(block, to: room) else { continue }
      (blocks + count).initialize(to: copy)
      room += Int(copy.count) * 4
      count += 1
    }
    trace.complete = recorder.complete.pointee.load(ordering: .relaxed)
    trace.blocks = UnsafePointer(blocks)
    trace.block_count = UInt64(count)
    body(&trace)
    return true
  }

  /// Nil when the block is empty, or has begun another turn meanwhile: what it had is the oldest of
  /// all.
  private static func copy(
    _ block: Block, to room: UnsafeMutablePointer<UInt64>
  ) -> inturn_system_trace_block? {
    let turn = block[0].load(ordering: .acquiring)
    if turn & 2 != 0 { return nil }
    let count = min(block[1].load(ordering: .acquiring), recordsOfBlock)
    let thread = block[2].load(ordering: .relaxed)
    var name = (block[3].load(ordering: .relaxed), block[4].load(ordering: .relaxed))
    for word in 0..<Int(count) * 4 {
      (room + word).initialize(to: block[wordsOfBlockHead + word].load(ordering: .relaxed))
    }
    atomicMemoryFence(ordering: .acquiring)
    if count == 0 || block[0].load(ordering: .acquiring) >> 2 != turn >> 2 { return nil }
    var copy = inturn_system_trace_block()
    copy.sequence = turn >> 2
    copy.thread = thread
    withUnsafeMutableBytes(of: &copy.name) { room in
      withUnsafeBytes(of: &name) { room.copyMemory(from: $0) }
    }
    copy.count = count
    copy.records = UnsafeRawPointer(room).assumingMemoryBound(to: inturn_system_trace_record.self)
    return copy
  }
}
