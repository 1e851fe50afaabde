/// What waits at an executor: lanes that want to be drained, and handlers of running work to be called.
///
/// A growing ring; it does not shrink. Its user's lock protects it.
struct ReadyRing: ~Copyable {
  /// A lane, or an operation whose handlers are due: a pointer whose lowest bit tells which.
  struct Item {
    fileprivate let bits: UInt

    init(lane: Lane.Pointer) { bits = UInt(bitPattern: lane) }
    init(noticesOf slot: OperationSlot.Pointer) { bits = UInt(bitPattern: slot) | 1 }

    fileprivate init(bits: UInt) { self.bits = bits }

    enum Content {
      case lane(Lane.Pointer)
      case notices(of: OperationSlot.Pointer)
    }

    var content: Content {
      bits & 1 == 0
        ? .lane(Lane.Pointer(bitPattern: bits).unsafelyUnwrapped)
        : .notices(of: OperationSlot.Pointer(bitPattern: bits & ~1).unsafelyUnwrapped)
    }

    /// Calls what is due, as far as the budget goes.
    func run(_ budget: inout DrainBudget) {
      switch content {
      case .lane(let lane): lane.drain(&budget)
      case .notices(let slot):
        if slot.deliverNotice() { budget.remaining -= 1 }
      }
    }
  }

  private var storage: UnsafeMutablePointer<UInt>
  private var capacity: Int
  /// How many have been taken out so far, which says where the first one is.
  private(set) var taken = 0
  private(set) var count = 0

  init() {
    capacity = 16
    storage = .allocate(capacity: capacity)
  }

  deinit { storage.deallocate() }

  mutating func append(_ item: Item) {
    if count == capacity { grow() }
    storage[(taken + count) & (capacity - 1)] = item.bits
    count += 1
  }

  mutating func popFirst() -> Item? {
    if count == 0 { return nil }
    let item = Item(bits: storage[taken & (capacity - 1)])
    taken += 1
    count -= 1
    return item
  }

  private mutating func grow() {
    let larger = UnsafeMutablePointer<UInt>.allocate(capacity: 2 * capacity)
    for position in taken..<taken + count {
      larger[position & (2 * capacity - 1)] = storage[position & (capacity - 1)]
    }
    storage.deallocate()
    storage = larger
    capacity *= 2
  }
}

/// How much an executor may still call before it is to look up.
package struct DrainBudget {
  /// How many calls are left.
  package var remaining: Int
  /// Whether the lane that is being drained has had a call.
  var hasCalled = false
  /// Operations with this work are given to the host, one at a time, instead of being called. Zero: none.
  let wanted: UInt
  /// The one that was given.
  package private(set) var given: GivenOperation?
  /// The process state that the drain began in. Another one means that a call has forked and this
  /// is the child, or that the process exits: then nothing of the engine is touched any more.
  let process = ProcessState.current
  /// The executor that drains, for comparing only. Nil outside the engine's own.
  private(set) var executor: UnsafeRawPointer?
  /// A slot that the last lane was drained with and the next one may use.
  var spareGate: OperationSlot.Pointer?
  /// The operation that its drainer starts next, which is in no buffer; only from the moment at
  /// which it is found until it is started, while its lane stays locked.
  var next: OperationSlot.Pointer?
  /// What is to be done when the lane that is being drained is unlocked.
  var outbox = Outbox()

  @inline(__always)
  var isStillOurs: Bool { ProcessState.current == process }

  var isForkedChild: Bool { (ProcessState.current ^ process) & ~ProcessState.exitingBit != 0 }

  package init(remaining: Int, wanted: RawWork? = nil) {
    self.remaining = remaining
    self.wanted = unsafeBitCast(wanted, to: UInt.self)
  }

  @inline(__always)
  mutating func begin(at executor: Executor) {
    self.executor = UnsafeRawPointer(Unmanaged.passUnretained(executor).toOpaque())
  }

  /// Gives a started operation, whose context is the host's from now on, or calls its work.
  @inline(__always)
  mutating func call(_ slot: OperationSlot.Pointer, _ token: Handle) {
    let work = slot.pointee.work.unsafelyUnwrapped
    if wanted != 0 && wanted == unsafeBitCast(work, to: UInt.self) {
      given = GivenOperation(context: slot.pointee.context, token: token)
      slot.pointee.destroy = nil
      remaining = 0
    } else {
      work(slot.pointee.context, token.bits)
    }
  }

  /// At the end of the executor's turn. In a forked child, the slot is its parent's.
  mutating func dropSpareGate() {
    if isStillOurs { spareGate?.dropGate() }
    spareGate = nil
  }
}
