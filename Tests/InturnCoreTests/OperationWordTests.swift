import Testing

@testable import InturnCore

/// The operation's word in every state that its events can lead to, in any order.
@Suite struct OperationWordTests {
  static let generation: UInt32 = 7
  /// How many attempts are explored.
  static let attempts: UInt32 = 3

  /// What the rest of the engine knows besides the word, counted as it happens.
  struct OperationWorld: World {
    var bits: UInt64
    var wins = 0
    var carriedOn = 0
    var isClaimedUnpublished = false
    var isInCall = false

    var word: OperationWord {
      get { OperationWord(bits: bits) }
      set { bits = newValue.bits }
    }

    func explore(_ events: inout Events<Self>) {
      events.event(!word.contains(.started) && !word.contains(.claimed)) {
        $0.word = $0.word.adding(.started)
        $0.isInCall = true
      }
      // The call returns; whoever sets the second of returned and ended continues.
      events.event(isInCall) {
        $0.isInCall = false
        if $0.word.contains(.ended) && !$0.word.contains(.placeHeld) { $0.carriedOn += 1 }
        $0.word = $0.word.adding(.returned)
      }
      for outcome in Outcome.allCases {
        if case .to(let next) = word.ending(
          generation: word.generation, outcome: outcome)
        {
          events.event {
            $0.word = next
            $0.wins += 1
            if next.contains(.ended) {
              if word.contains(.returned) { $0.carriedOn += 1 }
            } else {
              $0.isClaimedUnpublished = true
            }
          }
        }
      }
      for isHolding in [false, true] where !isHolding || word.contains(.started) {
        if let next = word.cutOff(outcome: .timedOut, holdingPlace: isHolding) {
          events.event {
            $0.word = next.adding(.ended)
            $0.wins += 1
            if next.contains(.returned) && !isHolding { $0.carriedOn += 1 }
          }
        }
      }
      events.event(isClaimedUnpublished) {
        $0.isClaimedUnpublished = false
        if $0.word.contains(.returned) { $0.carriedOn += 1 }
        $0.word = $0.word.adding(.ended)
      }
      if let next = word.yielding(generation: word.generation) {
        events.event {
          $0.word = next
          $0.wins += 1
          if next.contains(.returned) { $0.carriedOn += 1 }
        }
      }
      // Whoever continues after an attempt decides whether there is another one.
      if carriedOn == 1, let next = word.endedForGood() { events.event { $0.word = next } }
      if carriedOn == 1, !word.contains(.cancelRequested), let next = word.restarted() {
        let last = OperationWordTests.generation + OperationWordTests.attempts - 1
        events.event(word.generation < last) {
          $0.word = next
          $0.wins = 0
          $0.carriedOn = 0
        }
      }
      if let next = word.requestingCancel() { events.event { $0.word = next } }
      events.event(word.contains(.placeHeld)) {
        $0.word = $0.word.removing(.placeHeld)
        if $0.word.contains(.returned) { $0.carriedOn += 1 }
      }
    }
  }

  @Test(arguments: [
    OperationWord.Flags([]), .observed, [.observed, .handleHeld], [.observed, .retries],
  ])
  func `in every order of events one end wins and one party goes on`(
    flags: OperationWord.Flags
  ) {
    let start = OperationWorld(bits: OperationWord(generation: Self.generation, flags).bits)
    let seen = start.reachable()
    #expect(seen.count > 30)
    for world in seen {
      let word = world.word
      #expect(world.wins <= 1)
      #expect(world.carriedOn <= 1)
      #expect(word.contains(.claimed) == (world.wins == 1))
      if !word.contains(.restarting) {
        #expect((word.outcome != nil) == word.contains(.claimed))
      }
      if word.contains(.ended) { #expect(word.contains(.claimed)) }
      let isOver = world.carriedOn == 1 && !word.contains(.restarting)
      #expect(word.isOver == isOver, "\(word.flags)")
      #expect(word.state == .pending || word.contains(.started) || word.contains(.ended))
      #expect((word.state == .ended) == (word.isDecided && !world.isClaimedUnpublished))
      // The first attempt's token, and those of other past attempts, are refused for ever.
      if word.generation > Self.generation {
        let late = word.ending(generation: word.generation - 1, outcome: .finished)
        #expect(late == .refused(.alreadyFinished))
        #expect(word.contains(.reattempted))
      }
    }
  }

  @Test func `a token of another generation is told whether it is late or was never one`() {
    let word = OperationWord(generation: 7, .started)
    #expect(word.ending(generation: 6, outcome: .finished) == .refused(.alreadyFinished))
    #expect(word.ending(generation: 8, outcome: .finished) == .refused(.stale))
  }

  @Test func `an operation that has not started has no token`() {
    let word = OperationWord(generation: 7)
    #expect(word.ending(generation: 7, outcome: .finished) == .refused(.stale))
  }

  @Test func `another attempt keeps what belongs to the operation and drops the attempt's own`() {
    let kept: OperationWord.Flags = [.observed, .handleHeld, .ownClock, .waitedFor, .retries]
    let word = OperationWord(
      generation: 7, kept.union([.started, .returned, .claimed, .ended, .restarting]),
      outcome: .failed)
    let next = word.restarted()
    #expect(next == OperationWord(generation: 8, kept.union(.reattempted)))
    #expect(next?.state == .pending)
    #expect(word.endedForGood()?.outcome == .failed)
  }

  @Test func `an operation that gave way and may not come again ends cancelled`() {
    let word = OperationWord(generation: 7, .started).yielding(generation: 7)
    #expect(word?.state == .running)
    #expect(word?.endedForGood()?.outcome == .cancelled)
    #expect(word?.yielding(generation: 7) == nil)
  }

  @Test func `only what has begun gives way, and only an attempt that is over has a next one`() {
    let pending = OperationWord(generation: 7)
    #expect(pending.yielding(generation: 7) == nil)
    let running = OperationWord(generation: 7, .started)
    #expect(running.yielding(generation: 6) == nil)
    #expect(running.restarted() == nil)
    #expect(running.endedForGood() == nil)
  }

  @Test func `what nobody observes ends in one step`() {
    let word = OperationWord(generation: 7, .started)
    guard case .to(let next) = word.ending(generation: 7, outcome: .failed) else {
      Issue.record("refused")
      return
    }
    #expect(next.contains([.claimed, .ended]))
    #expect(next.outcome == .failed)
  }
}
