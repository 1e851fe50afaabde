internal import CSwiftTask
import Synchronization

/// What the Swift runtime says of task-local values that the standard library does not.
enum RuntimeLocals {
  /// What the runtime knows a task-local by.
  struct Key: @unchecked Sendable {
    // Safe to share: the address of an object that lives as long as the process.
    fileprivate let object: UnsafeRawPointer

    fileprivate var bits: UInt { UInt(bitPattern: object) }
  }

  static func key<Value>(of local: TaskLocal<Value>) -> Key {
    Key(object: UnsafeRawPointer(Unmanaged.passRetained(local).toOpaque()))
  }

  /// Where the current task, or the thread outside of tasks, has its binding of a task-local. Nil
  /// when there is none. The address differs for each binding, and for each copy of one.
  @inline(__always)
  static func binding(of key: Key) -> UnsafeMutableRawPointer? { cswift_task_binding(key.object) }

  // MARK: Whether anything is bound

  /// Whether task-local values are bound that work has to be given. True, too, where that cannot
  /// be told.
  ///
  /// There is no call for it. A task has the address of its last binding in a word of its own. Which
  /// word that is, is found out at the first use, by binding a value and looking which word has its
  /// address, and before and afterwards that of the binding which the new one names as its former
  /// one. Where none, or more than one, behaves like that, and outside of tasks, a value is bound
  /// each time to see what was bound before it.
  @inline(__always)
  static var areBound: Bool {
    guard let task = RuntimeTask.current else { return areBoundBeforeProbe }
    let place = wordOfTask.load(ordering: .relaxed)
    if place <= 0 { return place == 0 ? findWord(in: task) : areBoundBeforeProbe }
    return isForeign(task.load(fromByteOffset: place, as: UInt.self))
  }

  /// Where a task has the address of its last binding; 0 when that is not known yet, -1 when it
  /// cannot be. The same in all tasks: relaxed.
  private static let wordOfTask = Atomic<Int>(0)

  @inline(never)
  private static func findWord(in task: UnsafeRawPointer) -> Bool {
    if !isLayoutKnown {
      wordOfTask.store(-1, ordering: .relaxed)
      return true
    }
    // Any task is longer than that: its own part, and its first stack.
    let places = Array(stride(from: 16, to: 256, by: MemoryLayout<UInt>.stride))
    func words() -> [UInt] { places.map { task.load(fromByteOffset: $0, as: UInt.self) } }
    let before = words()
    let (own, previous, during): (UInt, UInt, [UInt]) = $probe.withValue(1) {
      // Its layout is known, so that it is bound.
      let value = binding(of: probeKey).unsafelyUnwrapped
      return (UInt(bitPattern: value) - headerSize, Header(before: value).previous, words())
    }
    let after = words()
    let found = places.indices.filter {
      during[$0] == own && after[$0] == before[$0] && before[$0] & ~3 == previous & ~3
    }
    let place = found.count == 1 ? places[found[0]] : -1
    wordOfTask.store(place, ordering: .relaxed)
    return place < 0 ? areBoundBeforeProbe : isForeign(before[found[0]])
  }

  @TaskLocal private static var probe: UInt = 0
  private static let probeKey = key(of: $probe)

  @inline(never)
  private static var areBoundBeforeProbe: Bool {
    if !isLayoutKnown { return true }
    return $probe.withValue(1) {
      guard let own = binding(of: probeKey) else { return true }
      return isForeign(Header(before: own).previous)
    }
  }

  /// Whether a binding, zero for none, or one before it is anything else than a frame of ours.
  @inline(__always)
  private static func isForeign(_ item: UInt) -> Bool {
    var item = item
    while item != 0 {
      // The lowest bits tell values from marks in between.
      if item & 3 != 0 { return true }
      let header = Header(item)
      if header.key != Frame.key.bits { return true }
      item = header.previous
    }
    return false
  }

  /// What comes before a bound value: the binding before it, the key, the value's type.
  private struct Header {
    let previous: UInt
    let key: UInt

    init(before value: UnsafeMutableRawPointer) { self.init(UInt(bitPattern: value) - headerSize) }

    init(_ item: UInt) {
      let words = UnsafePointer<UInt>(bitPattern: item).unsafelyUnwrapped
      previous = words[0]
      key = words[1]
    }
  }

  private static var headerSize: UInt { 3 * UInt(MemoryLayout<UInt>.size) }

  /// Whether headers are what they are taken for: known values are bound, and looked for.
  private static let isLayoutKnown: Bool = $probe.withValue(1) {
    guard let outer = binding(of: probeKey), Header(before: outer).key == probeKey.bits else {
      return false
    }
    return $probe.withValue(2) {
      guard let inner = binding(of: probeKey), inner != outer,
        inner.load(as: UInt.self) == 2, outer.load(as: UInt.self) == 1
      else { return false }
      let header = Header(before: inner)
      return header.key == probeKey.bits
        && header.previous == UInt(bitPattern: outer) - headerSize
    }
  }
}
