import Inturn
import Synchronization

/// Marks a task as being inside an operation of a queue, and knows the operations further out.
///
/// Bound as a task-local value while the operation's body runs. A structured child task sees its
/// parent's binding itself, while a task that is merely created inside has a copy of it: the
/// address of the binding tells the two apart. So a frame counts for the operation's task and its
/// children, for which it waits, and not for tasks that may outlive it. A copy may live longer than
/// the operation, and a copy of the copy may happen to lie at the original address. In that case
/// the binding's number differs from its cell's.
@usableFromInline
class Frame: @unchecked Sendable {
  // Safe to share: a frame is only read through a binding that counts, and `outer` was written
  // before by the same task, or the parent of the one that reads.

  /// Alive while the operation runs.
  unowned(unsafe) let core: QueueCore
  /// Alive while this frame is in use, which ends first.
  private(set) unowned(unsafe) var outer: Frame?

  /// Where a frame is found while its binding counts. Its memory is reused for other cells only.
  private struct Cell: ~Copyable {
    /// The number of the binding that counts. Releasing and acquiring: whoever finds this number
    /// finds the frame.
    let number = Atomic<UInt>(1)
    /// Where the binding was made. Relaxed: a copy that reads another binding's address does not
    /// find its own, as both are in use.
    let address = Atomic<UInt>(0)
    /// Written while no binding counts.
    var frame: Unmanaged<Frame>?
    /// Links the free cells. Their lock protects it.
    var next: UnsafeMutablePointer<Cell>?

    init() {
      frame = nil
      next = nil
    }
  }

  /// The free cells.
  private final class FreeCells: @unchecked Sendable {
    // Safe to share: `lock` protects the list.
    private let lock = BriefLock()
    @exclusivity(unchecked) private var first: UnsafeMutablePointer<Cell>?

    func take() -> UnsafeMutablePointer<Cell> {
      lock.lock()
      let cell = first
      if let cell { first = cell.pointee.next }
      lock.unlock()
      if let cell { return cell }
      let new = UnsafeMutablePointer<Cell>.allocate(capacity: 1)
      new.initialize(to: Cell())
      return new
    }

    func giveBack(_ cell: UnsafeMutablePointer<Cell>) {
      lock.lock()
      cell.pointee.next = first
      first = cell
      lock.unlock()
    }
  }

  private static let freeCells = FreeCells()
  /// Set with the first binding.
  private nonisolated(unsafe) final var cell: UnsafeMutablePointer<Cell>?

  /// The bound value: plain words, so that copies keep nothing alive.
  @usableFromInline
  struct Binding: Sendable {
    /// The address of the frame's cell; zero for none.
    var cell: UInt = 0
    /// The cell's number while the binding counts.
    var number: UInt = 0
  }

  @TaskLocal private static var bound = Binding()

  /// The task-local that bindings use.
  @usableFromInline static let local = $bound

  static let key = RuntimeLocals.key(of: $bound)

  init(_ core: QueueCore) { self.core = core }

  /// The token of its operation; null if the engine does not know it.
  var engineToken: Handle { Handle(bits: 0) }

  deinit { if let cell { Self.freeCells.giveBack(cell) } }

  /// The innermost operation that contains the current task, or nil.
  @inline(__always)
  static var current: Frame? {
    guard let place = RuntimeLocals.binding(of: key) else { return nil }
    let binding = place.assumingMemoryBound(to: Binding.self).pointee
    guard let cell = UnsafeMutablePointer<Cell>(bitPattern: binding.cell),
      cell.pointee.number.load(ordering: .acquiring) == binding.number,
      cell.pointee.address.load(ordering: .relaxed) == UInt(bitPattern: place)
    else { return nil }
    return cell.pointee.frame.unsafelyUnwrapped.takeUnretainedValue()
  }

  /// The value to bind in the current task, which keeps the frame alive meanwhile.
  @usableFromInline
  func binding() -> Binding {
    outer = Self.current
    if self.cell == nil {
      let cell = Self.freeCells.take()
      cell.pointee.frame = Unmanaged.passUnretained(self)
      self.cell = cell
    }
    let cell = self.cell.unsafelyUnwrapped
    let number = cell.pointee.number.wrappingAdd(1, ordering: .releasing).newValue
    return Binding(cell: UInt(bitPattern: cell), number: number)
  }

  /// The body has ended, so no binding counts any more.
  @usableFromInline
  func unbind() { cell.unsafelyUnwrapped.pointee.number.wrappingAdd(1, ordering: .releasing) }

  /// Records where the binding was just made.
  @usableFromInline
  func noteBinding() {
    let place = UInt(bitPattern: RuntimeLocals.binding(of: Self.key))
    cell.unsafelyUnwrapped.pointee.address.store(place, ordering: .relaxed)
  }

  /// Runs an operation's body in the frame.
  @inlinable
  @inline(__always)
  func bind<Value, Failure: Error>(
    isolation: isolated (any Actor)?, _ body: () async throws(Failure) -> Value
  ) async -> Result<Value, Failure> {
    let result = await Self.local.withValue(binding()) {
      // A closure is isolated like its function only if it uses the parameter.
      _ = isolation
      noteBinding()
      do throws(Failure) {
        return Result<Value, Failure>.success(try await body())
      } catch {
        return .failure(error)
      }
    }
    unbind()
    return result
  }
}
