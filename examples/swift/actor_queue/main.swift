// A score board that synchronous code reports to.
//
//     swift run --package-path examples/swift actor_queue
//
// What to look at: the reports begin in the order in which they were made; while one of them waits for
// a slow referee, the next ones continue.

import AsyncQueue

/// Confirms, but only when it is asked to hurry.
actor Referee {
  private var waiting: [CheckedContinuation<Void, Never>] = []
  private var hasDecided = false

  func review() async {
    if hasDecided { return }
    await withCheckedContinuation { waiting.append($0) }
  }

  func decide() {
    hasDecided = true
    for continuation in waiting { continuation.resume() }
    waiting = []
  }
}

actor ScoreBoard {
  private let queue = ActorQueue<ScoreBoard>(name: "score board")
  private let referee = Referee()
  private var goals = 0

  init() { queue.adoptExecutionContext(of: self) }

  nonisolated func report(_ goal: String, isDisputed: Bool = false) {
    queue.enqueue { board in
      if isDisputed {
        print("\(goal): under review")
        await board.referee.review()
      }
      board.goals += 1
      print("\(goal): counts, \(board.goals) in all")
    }
  }

  /// Waits for its turn behind the reports that were made before.
  nonisolated func goalsSoFar() async -> Int {
    await queue.enqueueAndWait { $0.goals }
  }

  nonisolated func endTheMatch() async throws {
    await referee.decide()
    try await queue.drain()
  }
}

let board = ScoreBoard()
board.report("first goal")
board.report("second goal", isDisputed: true)
board.report("third goal")
print("so far: \(await board.goalsSoFar())")
try await board.endTheMatch()
