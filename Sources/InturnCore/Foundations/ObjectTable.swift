/// A few objects with handles, such as executors and clocks. Its user's lock protects it.
struct ObjectTable<Object: AnyObject>: ~Copyable {
  private struct Entry {
    var generation: UInt32
    var object: Object?
  }

  private let kind: HandleKind
  private let floor: UInt32
  /// The first entry has the index directly above the floor.
  private var entries: [Entry] = []
  private var free: [UInt32] = []

  init(kind: HandleKind, above floor: UInt32 = 0) {
    self.kind = kind
    self.floor = floor
  }

  /// No index above this one has been given out.
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

  /// The object at one of them, if there is one.
  func object(at place: Int) -> (handle: Handle, object: Object)? {
    guard let object = entries[place].object else { return nil }
    let index = floor + UInt32(place) + 1
    return (Handle(kind, index: index, generation: entries[place].generation), object)
  }

  /// Removes the object that the handle names; there must be one.
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
