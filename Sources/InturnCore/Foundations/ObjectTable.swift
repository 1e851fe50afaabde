/// Objects that are few and named by handles: executors, clocks. Its user's lock protects it.
struct ObjectTable<Object: AnyObject>: ~Copyable {
  private struct Entry {
    var generation: UInt32
    var object: Object?
  }

  private let kind: HandleKind
  private let floor: UInt32
  /// The entry of the index above the floor comes first.
  private var entries: [Entry] = []
  private var free: [UInt32] = []

  init(kind: HandleKind, above floor: UInt32 = 0) {
    self.kind = kind
    self.floor = floor
  }

  /// None above it has been given out.
  var highestIndex: UInt32 { floor + UInt32(entries.count) }

  private func place(of index: UInt32) -> Int { Int(index) - Int(floor) - 1 }

  var count: Int { entries.count - free.count - retired }
  private var retired = 0

  mutating func add(_ object: Object) -> Handle {
    let index: UInt32
    if let last = free.popLast() {
      index = last
    } else {
      entries.append(Entry(generation: 0, object: nil))
      index = highestIndex
    }
    let place = place(of: index)
    entries[place].generation += 1
    entries[place].object = object
    return Handle(kind, index: index, generation: entries[place].generation)
  }

  /// The object that a handle names, or why there is none.
  func find(_ handle: Handle) -> (Status, Object?) {
    let place = place(of: handle.index)
    guard handle.isOf(kind), entries.indices.contains(place),
      entries[place].generation == handle.generation, let object = entries[place].object
    else { return (handle.refusal(for: kind), nil) }
    return (.ok, object)
  }

  /// How many indices have been given out.
  var room: Int { entries.count }

  /// What is at one of them, if something is.
  func object(at place: Int) -> (handle: Handle, object: Object)? {
    guard let object = entries[place].object else { return nil }
    let index = floor + UInt32(place) + 1
    return (Handle(kind, index: index, generation: entries[place].generation), object)
  }

  /// Removes what the handle names; it does.
  mutating func remove(_ handle: Handle) -> Object {
    let place = place(of: handle.index)
    let object = entries[place].object!
    entries[place].object = nil
    if handle.generation == Handle.maximumGeneration {
      retired += 1
    } else {
      free.append(handle.index)
    }
    return object
  }
}
