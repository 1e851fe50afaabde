import TestSupport
import Testing

@testable import AsyncTaskPerformer

/// The order of completions.
@Suite struct CompletionOrderTests {
  private let order = CompletionOrder()
  private let log = Log<Int>()

  private func complete(_ number: Int, isSuccess: Bool = true) {
    order.complete(number, isSuccess: isSuccess) { [log] in log.add(number) }
  }

  @Test func `lists that succeed complete in order, whichever is done first`() {
    for number in [3, 2, 5] { complete(number) }
    #expect(log.entries.isEmpty)
    complete(1)
    #expect(log.entries == [1, 2, 3])
    complete(4)
    #expect(log.entries == [1, 2, 3, 4, 5])
  }

  @Test func `one that fails waits for none, and none waits for it any more`() {
    complete(2, isSuccess: false)
    #expect(log.entries == [2])
    complete(3)
    complete(1)
    #expect(log.entries == [2, 1, 3])
  }

  @Test func `one that is done during the call of the one before comes after it`() {
    order.complete(1, isSuccess: true) { [self] in
      complete(2)
      log.add(1)
    }
    #expect(log.entries == [1, 2])
  }
}
