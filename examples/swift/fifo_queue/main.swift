// A document that is saved again and again, from synchronous code.
//
//     swift run --package-path examples/swift fifo_queue
//
// What to look at: each save takes several steps, and the next begins when the one before it has
// ended, so that an older version never overwrites a newer one.

import AsyncQueue

/// Stands for a disk: a save suspends between its steps.
actor Disk {
  private var isBusy = false

  func write(_ version: Int) async {
    precondition(!isBusy, "two saves would overlap")
    isBusy = true
    print("version \(version): begun")
    await Task.yield()
    print("version \(version): ended")
    isBusy = false
  }
}

final class Document: Sendable {
  private let disk = Disk()
  private let saves = FIFOQueue(label: "saves")

  /// Called from anywhere, for example from a text field that has changed.
  func save(_ version: Int) {
    saves.enqueue { [disk] in await disk.write(version) }
  }

  /// The last save's result: it waits for its turn like the others.
  func export() async -> String {
    await saves.run { "exported after every save" }
  }

  /// Saves nothing more, and waits for what is under way.
  func close() async throws {
    saves.close()
    let left = try await saves.drain(timeout: .seconds(10))
    print("closed, \(left.count) saves left, \(saves.statistics.finished) operations finished")
  }
}

let document = Document()
for version in 1...3 { document.save(version) }
print(await document.export())
try await document.close()
