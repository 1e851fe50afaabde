import Testing

@testable import InturnCore

/// Lanes that are drained from outside the engine, step by step.
@Suite struct LaneDrainerTests {
  /// Keeps the turns that it receives; the test takes them.
  private final class Host: LaneHost, @unchecked Sendable {
    // Safe to share: only one test's thread uses it.
    nonisolated(unsafe) var turns: [OutsideExecutor.Turn] = []
    nonisolated(unsafe) var notices: [OutsideExecutor.CancelNotice] = []

    nonisolated(unsafe) var kept: [UInt] = []

    func laneIsReady(_ turn: OutsideExecutor.Turn) { turns.append(turn) }
    func keep(_ context: UInt) { kept.append(context) }
    func cancelIsDue(_ notice: OutsideExecutor.CancelNotice) { notices.append(notice) }
  }

  private static func makeQueue(_ kind: QueueKind, clock: Clock? = nil) -> (Handle, Host) {
    let host = Host()
    let (status, queue) = Engine.createQueue(QueueOptions(kind: kind), host: host, clock: clock)
    #expect(status == .ok)
    return (queue, host)
  }

  /// Stands for a function's address.
  private static let work: UInt = 1 << 16

  /// Contexts are numbers whose lowest bits are the tag.
  private static func enqueue(_ queue: Handle, _ number: UInt, tag: UInt = 0) {
    #expect(
      Engine.enqueuePlain(queue, work: work, context: number << 3 | tag, destroy: { _ in }) == .ok)
  }

  @Test func `plain operations come in order, and only one is running at a time`() {
    let (queue, host) = Self.makeQueue(.fifo)
    for number in 1...100 { Self.enqueue(queue, UInt(number)) }
    #expect(host.turns.count == 1)
    let drainer = LaneDrainer(host.turns.removeFirst())
    for number in 1...100 {
      guard case .plain(let work, let context, let token) = drainer.next(tag: 0) else {
        Issue.record("an operation is next")
        return
      }
      #expect(work == Self.work && context == UInt(number) << 3)
      let (_, counts) = Engine.statistics(of: queue)
      #expect(counts.running == 1)
      #expect(counts.finished == UInt64(number - 1))
      #expect(Engine.end(token, as: .finished) == .ok)
      #expect(Engine.end(token, as: .finished) == .alreadyFinished)
      drainer.plainReturned()
    }
    guard case .left = drainer.next(tag: 0) else {
      Issue.record("nothing is left")
      return
    }
    #expect(Engine.drain(queue, timeoutNanoseconds: 0) == .ok)
    #expect(Engine.destroy(queue: queue) == .ok)
  }

  @Test func `a drainer goes back for operations of another tag`() {
    let (queue, host) = Self.makeQueue(.fifo)
    for (number, tag) in [(1, 2), (2, 2), (3, 4)] as [(UInt, UInt)] {
      Self.enqueue(queue, number, tag: tag)
    }
    let first = LaneDrainer(host.turns.removeFirst())
    guard case .wentBack(let turn, tag: 2, _) = first.next(tag: nil) else {
      Issue.record("it cannot take plain operations")
      return
    }
    let second = LaneDrainer(turn)
    #expect(Self.run(second, tag: 2) == Self.bits(1, 2))
    #expect(Self.run(second, tag: 2) == Self.bits(2, 2))
    guard case .wentBack(let last, tag: 4, let context) = second.next(tag: 2) else {
      Issue.record("the third operation has another tag")
      return
    }
    #expect(context == Self.bits(3, 4))
    let third = LaneDrainer(last)
    #expect(Self.run(third, tag: 4) == Self.bits(3, 4))
    #expect(Self.run(third, tag: 4) == nil)
    #expect(Engine.destroy(queue: queue) == .ok)
  }

  private static func bits(_ number: UInt, _ tag: UInt) -> UInt { number << 3 | tag }

  /// Runs the next plain operation and returns its context; nil if there is none.
  private static func run(_ drainer: LaneDrainer, tag: UInt) -> UInt? {
    guard case .plain(_, let context, let token) = drainer.next(tag: tag) else { return nil }
    #expect(Engine.end(token, as: .finished) == .ok)
    drainer.plainReturned()
    return context
  }

  @Test func `an actor lane goes on when a plain operation has suspended`() {
    let (queue, host) = Self.makeQueue(.actor)
    for number in 1...3 { Self.enqueue(queue, UInt(number)) }
    let drainer = LaneDrainer(host.turns.removeFirst())
    var tokens: [Handle] = []
    while case .plain(_, _, let token) = drainer.next(tag: 0) {
      tokens.append(token)
      drainer.plainReturned()
    }
    #expect(tokens.count == 3)
    #expect(Engine.statistics(of: queue).1.running == 3)
    for token in tokens { #expect(Engine.end(token, as: .finished) == .ok) }
    #expect(Engine.statistics(of: queue).1.finished == 3)
    #expect(Engine.drain(queue, timeoutNanoseconds: 0) == .ok)
    #expect(Engine.destroy(queue: queue) == .ok)
  }

  @Test func `suspending and cancelling stop a batch before its next operation`() {
    let (queue, host) = Self.makeQueue(.fifo)
    for number in 1...10 { Self.enqueue(queue, UInt(number)) }
    let drainer = LaneDrainer(host.turns.removeFirst())
    guard case .plain(_, _, let token) = drainer.next(tag: 0) else {
      Issue.record("an operation is next")
      return
    }
    #expect(Engine.suspend(queue) == .ok)
    _ = Engine.end(token, as: .finished)
    drainer.plainReturned()
    guard case .left = drainer.next(tag: 0) else {
      Issue.record("a suspended lane starts nothing")
      return
    }
    #expect(Engine.cancelAll(queue) == .ok)
    #expect(Engine.statistics(of: queue).1.ends.cancelled == 9)
    #expect(Engine.resume(queue) == .ok)
    for turn in host.turns {
      guard case .left = LaneDrainer(turn).next(tag: 0) else {
        Issue.record("nothing is left")
        return
      }
    }
    #expect(Engine.drain(queue, timeoutNanoseconds: 0) == .ok)
    #expect(Engine.destroy(queue: queue) == .ok)
  }

  @Test func `a visit takes the place of a FIFO lane that is free, and no other one`() {
    let (queue, host) = Self.makeQueue(.fifo)
    #expect(Engine.enter(queue))
    #expect(!Engine.enter(queue))
    #expect(Engine.statistics(of: queue).1.running == 1)
    Self.enqueue(queue, 1)
    #expect(host.turns.isEmpty)
    Engine.leave(queue, as: .failed)
    #expect(Engine.statistics(of: queue).1.ends.failed == 1)
    #expect(host.turns.count == 1)
    #expect(!Engine.enter(queue))
    let drainer = LaneDrainer(host.turns.removeFirst())
    guard case .plain(_, _, let token) = drainer.next(tag: 0) else {
      Issue.record("an operation is next")
      return
    }
    _ = Engine.end(token, as: .finished)
    drainer.plainReturned()
    _ = drainer.next(tag: 0)
    #expect(Engine.enter(queue))
    Engine.leave(queue, as: .finished)
    #expect(Engine.destroy(queue: queue) == .ok)
  }

  @Test(arguments: [false, true])
  func `a cancel handler is called once, and destroyed after that, whichever the executor comes to`(
    isEndFirst: Bool
  ) {
    let clock = Clock(isManual: true)
    let (queue, host) = Self.makeQueue(.fifo, clock: clock)
    let word = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    defer { word.deallocate() }
    word.initialize(to: 0)
    var options = OperationOptions()
    options.maxRun = 1
    options.freesPlaceAtMaxRun = true
    #expect(
      Engine.enqueue(
        queue, options: options, context: word, destroy: { _ in }, isObstinate: false,
        wantsHandle: false
      ).0 == .ok)
    guard let claim = Self.claimNext(of: queue, host, word) else { return }
    let status = Engine.setHandler(
      of: .cancel, claim.token, { word, _ in word!.assumingMemoryBound(to: Int.self).pointee += 1 },
      context: word, destroy: { $0!.assumingMemoryBound(to: Int.self).pointee += 10 })
    #expect(status == .ok)
    #expect(clock.advance(by: 1))
    #expect(word.pointee == 0)
    func deliver() { for notice in host.notices { notice.deliver() } }
    if !isEndFirst { deliver() }
    #expect(host.turns.count == 1)
    guard case .left = LaneDrainer(host.turns.removeFirst()).next(tag: nil) else {
      Issue.record("nothing is left")
      return
    }
    #expect(word.pointee == 11)
    if isEndFirst { deliver() }
    #expect(word.pointee == 11)
    #expect(Engine.drain(queue, timeoutNanoseconds: 0) == .ok)
    #expect(Engine.destroy(queue: queue) == .ok)
  }

  @Test func `a queue that is suspended between two plain operations starts no other one`() {
    let (queue, host) = Self.makeQueue(.fifo)
    for number in 1...2 { Self.enqueue(queue, UInt(number)) }
    let drainer = LaneDrainer(host.turns.removeFirst())
    #expect(Self.run(drainer, tag: 0) == Self.bits(1, 0))
    #expect(Engine.suspend(queue) == .ok)
    #expect(Self.run(drainer, tag: 0) == nil)
    #expect(Engine.statistics(of: queue).1.pending == 1)
    #expect(Engine.resume(queue) == .ok)
    let next = LaneDrainer(host.turns.removeFirst())
    #expect(Self.run(next, tag: 0) == Self.bits(2, 0))
    #expect(Self.run(next, tag: 0) == nil)
    #expect(Engine.destroy(queue: queue) == .ok)
  }

  @Test func `what has failed before one that suspends is counted`() {
    let (queue, host) = Self.makeQueue(.actor)
    for number in 1...2 { Self.enqueue(queue, UInt(number)) }
    let drainer = LaneDrainer(host.turns.removeFirst())
    for place in 0..<2 {
      guard case .plain(_, _, let token) = drainer.next(tag: 0) else {
        Issue.record("an operation is next")
        return
      }
      if place == 0 { #expect(Engine.end(token, as: .cancelled) == .ok) }
      drainer.plainReturned()
      if place == 0 { continue }
      let (_, counts) = Engine.statistics(of: queue)
      #expect(counts.ends.cancelled == 1 && counts.finished == 0 && counts.running == 1)
      #expect(Self.run(drainer, tag: 0) == nil)
      #expect(Engine.end(token, as: .finished) == .ok)
    }
    #expect(Engine.statistics(of: queue).1.finished == 1)
    #expect(Engine.destroy(queue: queue) == .ok)
  }

  @Test func `an obstinate operation is only asked to end, and keeps its place`() {
    let (queue, host) = Self.makeQueue(.fifo)
    #expect(Engine.suspend(queue) == .ok)
    let number = UnsafeMutablePointer<Int>.allocate(capacity: 3)
    number.initialize(repeating: 0, count: 3)
    defer { number.deallocate() }
    let destroy: RawDestroy = { $0!.assumingMemoryBound(to: Int.self).pointee = -1 }
    for place in 0..<3 {
      let (status, _) = Engine.enqueue(
        queue, options: nil, context: number + place, destroy: destroy, isObstinate: place != 1,
        wantsHandle: false)
      #expect(status == .ok)
    }
    #expect(Engine.cancelAll(queue) == .ok)
    #expect(Engine.statistics(of: queue).1.pending == 2)
    for turn in host.turns { _ = LaneDrainer(turn).next(tag: nil) }
    #expect(number[1] == -1)
    host.turns = []
    #expect(Engine.resume(queue) == .ok)
    for place in [0, 2] {
      guard let claim = Self.claimNext(of: queue, host, number + place) else { return }
      #expect(Engine.isCancelled(claim.token).1)
      #expect(Engine.end(claim.token, as: .finished) == .ok)
    }
    #expect(Engine.drain(queue, timeoutNanoseconds: 0) == .ok)
    #expect(Engine.destroy(queue: queue) == .ok)
  }

  // MARK: Offer and claim

  /// Takes the turn, in which the operation with this context is offered, and claims it.
  private static func claimNext(
    of queue: Handle, _ host: Host, _ context: UnsafeMutablePointer<Int>
  ) -> OutsideExecutor.Claim? {
    let context = UInt(bitPattern: context)
    expectOffer(context, host)
    let claim = Engine.claim(context, of: queue)
    #expect(claim != nil, "what is offered can be claimed")
    return claim
  }

  private static func expectOffer(
    _ context: UInt, _ host: Host, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    guard !host.turns.isEmpty,
      case .offered(context) = LaneDrainer(host.turns.removeFirst()).next(tag: nil)
    else {
      Issue.record("the operation is offered", sourceLocation: sourceLocation)
      return
    }
    #expect(host.kept.last == context, sourceLocation: sourceLocation)
  }

  private static func enqueueSlot(
    _ queue: Handle, _ context: UInt, _ options: OperationOptions? = nil
  ) -> Handle {
    let (status, operation) = Engine.enqueue(
      queue, options: options, context: UnsafeMutableRawPointer(bitPattern: context)!,
      destroy: { _ in }, isObstinate: false, wantsHandle: true)
    #expect(status == .ok)
    return operation
  }

  @Test(arguments: [QueueKind.fifo, .actor])
  func `what is offered is pending until it is claimed, and a suspend holds it back`(
    kind: QueueKind
  ) {
    let (queue, host) = Self.makeQueue(kind)
    let operation = Self.enqueueSlot(queue, 8)
    Self.expectOffer(8, host)
    let (_, counts) = Engine.statistics(of: queue)
    #expect(counts.pending == 1 && counts.running == 0)
    #expect(Engine.suspend(queue) == .ok)
    #expect(Engine.claim(8, of: queue) == nil)
    #expect(Engine.state(of: operation).1 == .pending)
    #expect(host.turns.isEmpty)
    #expect(Engine.resume(queue) == .ok)
    Self.expectOffer(8, host)
    // Suspending and resuming in between makes no difference.
    #expect(Engine.suspend(queue) == .ok && Engine.resume(queue) == .ok)
    guard let claim = Engine.claim(8, of: queue) else {
      Issue.record("a queue that goes on lets it be claimed")
      return
    }
    #expect(Engine.claim(8, of: queue) == nil)
    #expect(Engine.state(of: operation).1 == .running)
    #expect(Engine.end(claim.token, as: .finished) == .ok)
    #expect(Engine.release(operation) == .ok)
    #expect(Engine.drain(queue, timeoutNanoseconds: 0) == .ok)
    #expect(Engine.destroy(queue: queue) == .ok)
  }

  @Test(arguments: [QueueKind.fifo, .actor])
  func `what is cancelled while it is offered makes room for the next offer`(kind: QueueKind) {
    let (queue, host) = Self.makeQueue(kind)
    let operations = [8, 16].map { Self.enqueueSlot(queue, $0) }
    Self.expectOffer(8, host)
    #expect(host.turns.isEmpty)
    #expect(Engine.cancel(operations[0]) == .ok)
    Self.expectOffer(16, host)
    #expect(Engine.claim(8, of: queue) == nil)
    // That claim has withdrawn the offer.
    Self.expectOffer(16, host)
    let claim = Engine.claim(16, of: queue)
    #expect(claim != nil)
    _ = Engine.end(claim?.token ?? Handle(bits: 0), as: .finished)
    for operation in operations { #expect(Engine.release(operation) == .ok) }
    #expect(Engine.drain(queue, timeoutNanoseconds: 0) == .ok)
    #expect(Engine.destroy(queue: queue) == .ok)
  }

  @Test func `deadlines count up to the claim and from it`() {
    let clock = Clock(isManual: true)
    let (queue, host) = Self.makeQueue(.fifo, clock: clock)
    var options = OperationOptions()
    options.maxWait = 10
    options.maxRun = 20
    let operations = [8, 16].map { Self.enqueueSlot(queue, $0, options) }
    Self.expectOffer(8, host)
    #expect(clock.advance(by: 9))
    let claim = Engine.claim(8, of: queue)
    #expect(clock.advance(by: 19))
    #expect(operations.map { Engine.state(of: $0).1 } == [.running, .ended])
    #expect(Engine.end(claim?.token ?? Handle(bits: 0), as: .finished) == .ok)
    for turn in host.turns { _ = LaneDrainer(turn).next(tag: nil) }
    host.turns = []
    let late = Self.enqueueSlot(queue, 24, options)
    Self.expectOffer(24, host)
    #expect(clock.advance(by: 10))
    #expect(Engine.claim(24, of: queue) == nil)
    #expect(Engine.state(of: late).1 == .ended)
    for turn in host.turns { _ = LaneDrainer(turn).next(tag: nil) }
    for operation in operations + [late] { #expect(Engine.release(operation) == .ok) }
    #expect(Engine.drain(queue, timeoutNanoseconds: 0) == .ok)
    #expect(Engine.destroy(queue: queue) == .ok)
  }

  @Test func `a plain operation that is claimed is over for its lane, and the next is offered`() {
    let (queue, host) = Self.makeQueue(.actor)
    let contexts = (1...3).map { Self.bits($0, LaneDrainer.claimedTag) }
    for context in contexts {
      #expect(Engine.enqueueObstinate(queue, context: context, destroy: { _ in }) == .ok)
    }
    Self.expectOffer(contexts[0], host)
    var begun = 0
    for (place, context) in contexts.enumerated() {
      let claim = Engine.claim(context, of: queue) { begun += 1 }
      #expect(claim?.offered == (place < 2 ? contexts[place + 1] : nil))
      #expect(claim?.isAskedToEnd == (place == 2))
      if place == 1 { #expect(Engine.cancelAll(queue) == .ok) }
      #expect(begun == place + 1)
      #expect(Engine.statistics(of: queue).1.finished == UInt64(begun))
      // The cancel has withdrawn the offer.
      if place == 1 { Self.expectOffer(contexts[2], host) }
    }
    #expect(Engine.drain(queue, timeoutNanoseconds: 0) == .ok)
    #expect(Engine.destroy(queue: queue) == .ok)
  }
}
