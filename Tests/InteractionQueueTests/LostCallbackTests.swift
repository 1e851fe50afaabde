import InturnCore
import Synchronization
import Testing

@testable import InteractionQueue

/// What is reported; one test at a time, as the report handler is the process's.
@Suite(.serialized, .timeLimit(.minutes(1))) struct LostCallbackTests {
  /// The messages of what `body` does.
  private func reports(_ body: () async -> Void) async -> [String] {
    let box = Box()
    Engine.setReportHandler(
      ReportHandler(call: { report in box.add(report.message) }, onRelease: {}))
    await body()
    Engine.setReportHandler(nil)
    return box.all
  }

  private final class Box: Sendable {
    private let messages = Mutex<[String]>([])
    func add(_ message: String) { messages.withLock { $0.append(message) } }
    var all: [String] { messages.withLock { $0 } }
  }

  @Test func `a lost callback ends its interaction, names the line, and the queue goes on`() async {
    let stage = await Stage.visible()
    let line = #line + 2
    let messages = await reports {
      let lost = stage.queue.add { _ in }
      #expect(await lost.end == .abandoned)
    }
    let source = "InteractionQueueTests/LostCallbackTests.swift:\(line)"
    #expect(messages.count == 1)
    #expect(messages.first?.contains(source) == true, "\(messages)")
    #expect(messages.first?.contains("abandoned") == true)
    let next = stage.show("next")
    await stage.advance(250)
    #expect(stage.noted() == ["next"])
    await next.finish()
  }

  @Test func `an interaction that stalls is reported and goes on`() async {
    let stage = await Stage.visible()
    let messages = await reports {
      let shown = stage.show("shown", .with { $0.stallWarning = .seconds(10) })
      await Stage.settle()
      await stage.advance(10_000)
      #expect(shown.interaction.state == .running)
      await shown.finish()
    }
    #expect(messages.count == 1)
  }
}
