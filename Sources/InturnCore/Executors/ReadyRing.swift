/// What waits at an executor: lanes to be drained, and handlers of running work to be called.
///
/// A ring that grows and never shrinks. Its user's lock protects it.
struct ReadyRing: ~Copyable {
  /// A lane, or an operation whose handlers are due: a pointer whose lowest bit says which.
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

    /// Drains the lane or calls the handler, as far as the budget goes.
    func run(_ budget: inout DrainBudget) {
      if !budget.isStillOurs { return }
      switch content {
      case .lane(let lane): lane.drain(&budget)
      case .notices(let slot):
        if slot.deliverNotice() { budget.remaining -= 1 }
      }
    }
  }

  /// The first item, most of the time the only one: it is on the same cache line as the count.
  private var first: UInt = 0
  /// The others, from `taken` on.
  private var storage: UnsafeMutablePointer<UInt>
  private var capacity: UInt32
  /// How many items have been taken out, modulo 2^32.
  private(set) var taken: UInt32 = 0
  private var length: UInt32 = 0

  var count: Int { Int(length) }

  init() {
    capacity = 16
    storage = .allocate(capacity: Int(capacity))
  }

  deinit { storage.deallocate() }

  mutating func append(_ item: Item) {
    if length == 0 {
      first = item.bits
    } else {
      if length > capacity { grow() }
      storage[place(taken &+ length &- 1)] = item.bits
    }
    length += 1
  }

  private func place(_ position: UInt32) -> Int { Int(position & (capacity - 1)) }

  mutating func popFirst() -> Item? {
    if length == 0 { return nil }
    let item = Item(bits: first)
    length -= 1
    if length > 0 { first = storage[place(taken)] }
    taken &+= 1
    return item
  }

  private mutating func grow() {
    let (old, oldCapacity) = (storage, capacity)
    capacity *= 2
    storage = .allocate(capacity: Int(capacity))
    for position in 0..<oldCapacity {
      storage[place(taken &+ position)] = old[Int((taken &+ position) & (oldCapacity - 1))]
    }
    old.deallocate()
  }
}
