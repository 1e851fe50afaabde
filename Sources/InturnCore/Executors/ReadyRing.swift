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
      switch content {
      case .lane(let lane): lane.drain(&budget)
      case .notices(let slot):
        if slot.deliverNotice() { budget.remaining -= 1 }
      }
    }
  }

  private var storage: UnsafeMutablePointer<UInt>
  private var capacity: Int
  /// How many items have been taken out; also gives the position of the first one.
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
