/// What happened, in order, recorded by any thread.
package final class Log<Entry: Sendable>: Sendable {
  private let list = Protected<[Entry]>([])

  package init() {}

  package func add(_ entry: Entry) { list.withLock { $0.append(entry) } }

  package var entries: [Entry] { list.withLock { $0 } }
}

/// A number that any thread counts up and down, and the highest value that it has had.
package final class Counter: Sendable {
  private let numbers = Protected((now: 0, highest: 0))

  package init() {}

  package func up() {
    numbers.withLock {
      $0.now += 1
      $0.highest = max($0.highest, $0.now)
    }
  }

  package func down() { numbers.withLock { $0.now -= 1 } }

  package var value: Int { numbers.withLock { $0.now } }
  package var highest: Int { numbers.withLock { $0.highest } }
}
