import Inturn
import Synchronization

/// That a task is inside an operation of a queue, and inside which ones further out.
///
/// It is bound to a task-local value for as long as the operation's body runs. A structured
/// child task sees its parent's binding itself, but a task that is only created inside has a copy
/// of it: the address of the binding tells the two apart. So a frame counts for the operation's task
/// and its children, for which it waits, and for no task that may outlive it. A copy may live longer
/// than the operation, and a copy of that one may come to lie at the first address by chance; then
/// the number of the binding, which its cell has no more, tells.
@usableFromInline
class Frame: @unchecked Sendable {
  // Safe to share: only who finds that a binding counts looks at its frame, and `outer` was written
  // before that by the task that he belongs to.

  /// Alive as long as the operation runs.
  unowned(unsafe) let core: QueueCore
  /// Alive as long as this one is in use, which ends first.
  private(set) unowned(unsafe) var outer: Frame?

  /// Where a frame is found as long as its binding counts. Its memory is used for other frames
  /// afterwards, and never for anything else.
  private struct Cell: ~Copyable {
    /// The number of the binding that counts. Releasing and acquiring: who finds his number finds
    /// the frame.
    let number = Atomic<UInt>(1)
    /// Where the binding was made. Relaxed: what a copy reads of another binding is not its own
    /// address, as each is still in use.
    let address = Atomic<UInt>(0)
    /// Written while no binding counts.
    var frame: Unmanaged<Frame>?
    /// In the list of free cells, whose lock protects it.
    var next: UnsafeMutablePointer<Cell>?

    init() {
      frame = nil
      next = nil
    }
  }

  /// The cells that are free.
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
  /// From the first binding on.
  private nonisolated(unsafe) final var cell: UnsafeMutablePointer<Cell>?

  /// What is bound: plain words, so that copies keep nothing alive.
  @usableFromInline
  struct Binding: Sendable {
    /// The address of the frame's cell; zero for none.
    var cell: UInt = 0
    /// The number that the cell has as long as the binding counts.
    var number: UInt = 0
  }

  @TaskLocal private static var bound = Binding()

  /// What frames are bound to.
  @usableFromInline static let local = $bound

  static let key = RuntimeLocals.key(of: $bound)

  init(_ core: QueueCore) { self.core = core }

  deinit { if let cell { Self.freeCells.giveBack(cell) } }

  /// The innermost operation that the current task is inside, or none.
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

  /// What is to be bound for the current task, which keeps the frame for as long.
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

  /// The body has ended: no binding counts any more.
  @usableFromInline
  func unbind() { cell.unsafelyUnwrapped.pointee.number.wrappingAdd(1, ordering: .releasing) }

  /// The binding was just made, here.
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
      // A closure is isolated as its function is only if it uses the parameter.
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
