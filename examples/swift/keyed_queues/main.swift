// A queue for each of 10,000 users: in order for each user, and no user waits for another.
//
//     swift run --package-path examples/swift keyed_queues
//
// What to look at: messages arrive mixed, and each goes to its user's queue. A few threads handle them
// all; messages of one user never overlap, so that what they use needs no lock. One user cannot be
// reached, and their queue is suspended: their messages wait, and all others are handled. Who is away
// may be so for days, which is not being stuck: no stall limit says so.

import AsyncQueue

final class User: @unchecked Sendable {
  // Safe to share: the two numbers are only used by the operations of the queue, or once it has been
  // drained.

  let queue = FIFOQueue()
  private(set) var (handled, outOfOrder) = (0, 0)

  init() { queue.setStallLimit(nil) }

  func send(_ number: Int) {
    queue.enqueue { [self] in
      if number != handled { outOfOrder += 1 }
      handled += 1
    }
  }
}

/// Waits for the users' queues, and prints what they have done.
func wait(for users: [User]) async throws {
  for user in users { try await user.queue.drain() }
  let handled = users.reduce(0) { $0 + $1.handled }
  let outOfOrder = users.reduce(0) { $0 + $1.outOfOrder }
  print("\(handled) messages handled, \(outOfOrder) of them out of order")
}

let (messages, away) = (10, 42)
let users = (0..<10_000).map { _ in User() }
users[away].queue.suspend()

for number in 0..<messages { users.forEach { $0.send(number) } }
print("\(users.count * messages) messages to \(users.count) users")

try await wait(for: users.filter { $0 !== users[away] })
print("user \(away) is away: \(users[away].queue.statistics.pending) messages wait")

users[away].queue.resume()
print("user \(away) is back")
try await wait(for: users)
