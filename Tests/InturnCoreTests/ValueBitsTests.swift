import Dispatch
import Foundation
import Synchronization
import Testing

@testable import InturnCore

/// What is read without a lock while another thread writes it.
@Suite struct ValueBitsTests {
  private struct Words: Equatable {
    var first: UInt64, second: UInt64, third: UInt64, fourth: UInt64

    init(_ word: UInt64) { (first, second, third, fourth) = (word, word, word, word) }
  }

  /// Words that another thread writes until they are released.
  private final class Written: Sendable {
    nonisolated(unsafe) let words = ValueBits<Words>.makeWords(Words(0))
    let isOver = Atomic(false)

    deinit { words.deallocate() }
  }

  @Test func `what is read is a value that was written as a whole`() {
    let written = Written()
    let hasEnded = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      var word: UInt64 = 0
      while !written.isOver.load(ordering: .relaxed) {
        word += 1
        ValueBits.store(Words(word), in: written.words)
      }
      #expect(ValueBits<Words>.load(from: written.words) == Words(word))
      hasEnded.signal()
    }
    var last: UInt64 = 0
    while last < 100_000 {
      guard let value = ValueBits<Words>.load(from: written.words) else { continue }
      if value != Words(value.first) || value.first < last {
        Issue.record("\(value) was never written, or after \(last)")
        break
      }
      last = value.first
    }
    written.isOver.store(true, ordering: .relaxed)
    hasEnded.wait()
  }
}
