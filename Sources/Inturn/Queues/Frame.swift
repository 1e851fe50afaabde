internal import CSwiftTask
import InturnCore
import Synchronization

/// Marks a task as being inside an operation, of any module's queue, and knows the operations
/// further out.
///
/// Bound as a task-local value while the operation's body runs. A structured child task sees its
/// parent's binding itself, while a task that is merely created inside has a copy of it: the
/// address of the binding tells the two apart. So a frame counts for the operation's task and its
/// children, for which it waits, and not for tasks that may outlive it. A copy may live longer than
/// the operation, and a copy of the copy may happen to lie at the original address. In that case
/// the binding's number differs from its frame's.
///
/// A frame's memory is reused for other frames only.
@usableFromInline
package struct Frame: @unchecked Sendable {
  // Safe to share: what it says is written while no binding of it counts, and read through one that
  // does.

  /// What a frame says of its operation.
  @usableFromInline
  package struct Operation {
    fileprivate let queue: Handle
    /// Null if the engine does not know the operation.
    fileprivate let token: Handle
    /// Identifies it among those that the engine does not know; zero for the frame's own address.
    fileprivate let address: UInt
    /// Whether somebody may read the progress that its body reports.
    fileprivate let hasProgress: Bool

    /// An operation that the engine knows.
    package init(token: Handle, hasProgress: Bool = true) {
      (queue, self.token, address) = (Handle(bits: 0), token, 0)
      self.hasProgress = hasProgress
    }

    /// One that the engine does not know, at this address if it is an object.
    package init(of queue: Handle, _ object: AnyObject? = nil) {
      (self.queue, token, hasProgress) = (queue, Handle(bits: 0), false)
      address = object.map { UInt(bitPattern: Unmanaged.passUnretained($0).toOpaque()) } ?? 0
    }
  }

  private struct Content: ~Copyable {
    /// The number of the binding that counts. Releasing and acquiring: whoever finds this number
    /// finds what was written before.
    let number = Atomic<UInt>(1)
    /// Where the binding was made. Relaxed: a copy that reads another binding's address does not
    /// find its own, as both are in use.
    let address = Atomic<UInt>(0)
    var operation: Operation
    /// Further operations that wait for this one, and what contains them.
    var callers: [Handle] = []
    /// In use for longer than this frame.
    var outer: Frame?
    /// Links the free frames. Their lock protects it.
    var next: Frame?

    init(_ operation: Operation) { self.operation = operation }
  }

  private let content: UnsafeMutablePointer<Content>

  // MARK: Its life

  /// The frames that are not in use.
  private final class FreeFrames: @unchecked Sendable {
    // Safe to share: `lock` protects the list.
    let lock = BriefLock()
    @exclusivity(unchecked) var first: Frame?
  }

  private static let free = FreeFrames()

  @usableFromInline
  package init(of operation: Operation) {
    let free = Self.free
    free.lock.lock()
    let old = free.first
    if let old { free.first = old.content.pointee.next }
    free.lock.unlock()
    if let old {
      content = old.content
      content.pointee.operation = operation
    } else {
      content = .allocate(capacity: 1)
      content.initialize(to: Content(operation))
    }
  }

  /// It is no longer used.
  @usableFromInline
  package func giveBack() {
    let free = Self.free
    free.lock.lock()
    content.pointee.next = free.first
    free.first = self
    free.lock.unlock()
  }

  // MARK: Binding

  /// The bound value: plain words, so that copies keep nothing alive.
  @usableFromInline
  package struct Binding: Sendable {
    /// The address of the frame's content; zero for none.
    fileprivate var frame: UInt = 0
    /// The frame's number while the binding counts.
    fileprivate var number: UInt = 0
  }

  @TaskLocal private static var bound = Binding()

  /// The task-local that bindings use.
  @usableFromInline package static let local = $bound

  /// The runtime's key of that task-local: the address of an object that is never freed.
  package static let key = UInt(bitPattern: Unmanaged.passRetained($bound).toOpaque())

  /// Where the current task, or the thread outside of tasks, has its binding; nil for none. Each
  /// binding, and each copy of one, has a different address.
  @inline(__always)
  private static var placeOfBinding: UnsafeMutableRawPointer? {
    cswift_task_binding(UnsafeRawPointer(bitPattern: key).unsafelyUnwrapped)
  }

  /// The innermost operation that contains the current task, or nil.
  @inline(__always)
  private static var current: Frame? {
    guard let place = placeOfBinding else { return nil }
    let binding = place.assumingMemoryBound(to: Binding.self).pointee
    guard let content = UnsafeMutablePointer<Content>(bitPattern: binding.frame),
      content.pointee.number.load(ordering: .acquiring) == binding.number,
      content.pointee.address.load(ordering: .relaxed) == UInt(bitPattern: place)
    else { return nil }
    return Frame(content)
  }

  private init(_ content: UnsafeMutablePointer<Content>) { self.content = content }

  /// The value to bind in the current task.
  @usableFromInline
  package func binding() -> Binding {
    content.pointee.outer = Self.current
    let number = content.pointee.number.wrappingAdd(1, ordering: .releasing).newValue
    return Binding(frame: UInt(bitPattern: content), number: number)
  }

  /// Records where the binding was just made.
  @usableFromInline
  package func noteBinding() {
    let place = UInt(bitPattern: Self.placeOfBinding)
    content.pointee.address.store(place, ordering: .relaxed)
  }

  /// The body has ended, so no binding counts any more.
  @usableFromInline
  package func unbind() { content.pointee.number.wrappingAdd(1, ordering: .releasing) }

  /// Runs an operation's body in the frame.
  @inlinable
  @inline(__always)
  package func bind<Value, Failure: Error>(
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

  /// Runs an operation's body in a frame of its own.
  @inlinable
  @inline(__always)
  package static func bind<Value, Failure: Error>(
    _ operation: Operation, isolation: isolated (any Actor)?,
    _ body: () async throws(Failure) -> Value
  ) async -> Result<Value, Failure> {
    let frame = Frame(of: operation)
    defer { frame.giveBack() }
    return await frame.bind(isolation: isolation, body)
  }

  /// The same; operations with these tokens wait for it.
  static func bind(
    _ operation: Operation, waitedForBy callers: [Handle], _ body: () async -> Void
  ) async {
    let frame = Frame(of: operation)
    frame.content.pointee.callers = callers
    _ = await frame.bind(isolation: nil, body)
    frame.content.pointee.callers = []
    frame.giveBack()
  }
}

// MARK: What it is asked

extension Frame.Operation {
  /// The operation as something that waits may hold up; nil once it has ended.
  package var holder: TaskWait.Holder? { holder(at: address) }

  fileprivate func holder(at address: UInt) -> TaskWait.Holder? {
    token.bits == 0 ? TaskWait.Holder(at: address, of: queue) : TaskWait.Holder(token)
  }
}

extension Frame {
  /// Whether the current task is inside an operation.
  package static var isBound: Bool { current != nil }

  /// The tokens of the operations that contain the current task, of those that the engine knows.
  static var tokensOfCurrent: [Handle] {
    guard let frame = current else { return [] }
    return frame.chain.flatMap { frame in
      let content = frame.content
      return [content.pointee.operation.token].filter { $0.bits != 0 } + content.pointee.callers
    }
  }

  /// The frame, and those further out.
  private var chain: some Sequence<Frame> {
    sequence(first: self) { $0.content.pointee.outer }
  }

  /// Begins a wait of the current task, in this line; throws, after a report, if it could never
  /// end. While it lasts, `needs` says, under a lock, what it depends on.
  package static func enter(
    at site: @autoclosure () -> Site, needing needs: @escaping () -> [TaskWait.Need]
  ) throws(QueueError) -> WaitGraph.Entry {
    guard let frame = current else { return .none }
    do {
      return try WaitGraph.enter(
        TaskWait(inside: { frame.holders }, needing: needs, at: site()))
    } catch {
      throw .deadlock(String(error.message))
    }
  }

  /// The operations that contain the frame and keep their places.
  private var holders: [TaskWait.Holder] {
    var holders: [TaskWait.Holder] = []
    for frame in chain {
      let operation = frame.content.pointee.operation
      let own = operation.address == 0 ? UInt(bitPattern: frame.content) : operation.address
      if let holder = operation.holder(at: own) { holders.append(holder) }
      holders += frame.content.pointee.callers.compactMap { TaskWait.Holder($0) }
    }
    return holders
  }

  /// Reports the progress of the operation that contains the current task. False if nobody could
  /// read it.
  static func report(_ progress: InturnCore.Progress) -> Bool {
    guard let operation = current?.content.pointee.operation, operation.hasProgress else {
      return false
    }
    return Engine.setProgress(progress, of: operation.token) == .ok
  }
}
