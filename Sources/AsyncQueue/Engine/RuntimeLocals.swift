internal import CSwiftTask
import Inturn

/// A fact about task-local values that the Swift runtime knows and the standard library does not
/// expose.
enum RuntimeLocals {
  /// Whether task-local values are bound that work has to inherit. Also true when that cannot be
  /// told: an enqueue then creates a task, which inherits them.
  ///
  /// There is no call for this, and an enqueue that creates a task costs eight times as many
  /// instructions. A task has the address of its last binding in a word of its own. Outside of
  /// tasks, a value is bound each time to see what was bound before it. Both rely on runtimes whose
  /// version and task size the tests have seen. Nothing is read in others, nor in a build without
  /// the package's trait `ReadsTasks`.
  @inline(__always)
  static func areBound(in task: TaskAddress) -> Bool {
    #if INTURN_READS_TASKS
      guard cswift_task_is_known() else { return true }
      if task == .none { return areBoundOutside }
      return isForeign(cswift_task_last_binding(task.bits))
    #else
      return true
    #endif
  }

  @TaskLocal private static var probe: UInt = 0
  /// An object that is never freed.
  private nonisolated(unsafe) static let probeKey = UnsafeRawPointer(
    Unmanaged.passRetained($probe).toOpaque())

  @inline(never)
  private static var areBoundOutside: Bool {
    $probe.withValue(1) {
      guard let own = cswift_task_binding(probeKey) else { return true }
      return isForeign(Header(before: own).previous)
    }
  }

  /// Whether a binding (zero for none), or one before it, is anything but one of our frames.
  @inline(__always)
  private static func isForeign(_ item: UInt) -> Bool {
    var item = item
    while item != 0 {
      // The lowest bits tell values from markers between them.
      if item & 3 != 0 { return true }
      let header = Header(item)
      if header.key != Frame.key { return true }
      item = header.previous
    }
    return false
  }

  /// What precedes a bound value: the previous binding, the key, the value's type.
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
}
