import AsyncOperation
import Foundation
import InteractionQueue
import Testing

/// The programs of the module's original document, with only what the module exports.
@Suite(.timeLimit(.minutes(1))) struct DocumentTests {
  /// Stands for UIKit's.
  @MainActor class ViewController {
    func viewDidAppear(_ animated: Bool) {}
    func viewWillDisappear(_ animated: Bool) {}
  }

  final class MainViewController: ViewController {
    private let interactionQueue = InteractionQueue()
    private(set) var presented: [(name: String, at: ContinuousClock.Instant)] = []

    override func viewDidAppear(_ animated: Bool) {
      super.viewDidAppear(animated)
      interactionQueue.onViewDidAppear()
    }

    override func viewWillDisappear(_ animated: Bool) {
      interactionQueue.onViewWillDisappear()
      super.viewWillDisappear(animated)
    }

    /// An interaction with an escaping completion block.
    func ask(_ name: String) {
      interactionQueue.add { markInteractionFinished in
        self.doSomethingWithEscapingCompletionBlock {
          [weak self] in
          defer { markInteractionFinished() }
          guard let self = self else { return }
          self.presented.append((name, .now))
        }
      }
    }

    /// An interaction that need not involve the user.
    func skip() {
      interactionQueue.add { markInteractionFinished in
        markInteractionFinished()
      }
    }

    /// An interaction with `async` and `await`, whose end the caller waits for.
    func last(_ done: @escaping @Sendable () -> Void) {
      interactionQueue.add { markInteractionFinished in
        Task {
          defer { done() }
          await Task.yield()
          markInteractionFinished()
        }
      }
    }

    private func doSomethingWithEscapingCompletionBlock(
      _ completion: @escaping @MainActor @Sendable () -> Void
    ) {
      #expect(OperationQueue.current === OperationQueue.main)
      DispatchQueue.main.async { completion() }
    }
  }

  @Test @MainActor func `interactions come one at a time with the documents delays`() async {
    let controller = MainViewController()
    controller.ask("location")
    controller.skip()
    controller.ask("camera")
    let appeared = ContinuousClock.now
    controller.viewDidAppear(false)
    await withCheckedContinuation { done in
      controller.last { done.resume() }
    }
    let presented = controller.presented
    #expect(presented.map(\.name) == ["location", "camera"])
    #expect(presented[0].at - appeared >= .milliseconds(500))
    #expect(presented[1].at - presented[0].at >= .milliseconds(250))
    controller.viewWillDisappear(false)
  }

  /// Closures that are kept in variables and properties, or are functions of their own.
  @Test @MainActor func `the names of the types are as they were`() async {
    let queue = InteractionQueue()
    var kept: InteractionQueue.MarkInteractionFinished?
    let block: InteractionQueue.Block = { markInteractionFinished in kept = markInteractionFinished
    }
    func present(_ completion: @escaping () -> Void) { completion() }
    queue.add(block)
    queue.add(present)
    queue.onViewDidAppear()
    while kept == nil { await Task.yield() }
    kept!()
    while queue.statistics.finished < 2 { await Task.yield() }
  }

  /// "Other operations may depend on a result that gets delivered in the completion block."
  @Test @MainActor func `an operation of the document holds its queue until it is finished`() async
  {
    var log: [String] = []
    let operations = [
      AsyncUIOperation { markInteractionFinished in
        #expect(OperationQueue.current === OperationQueue.main)
        log.append("shown")
        DispatchQueue.main.async {
          log.append("answered")
          markInteractionFinished()
        }
      }, AsyncBlockOperation { finish in DispatchQueue.main.async { finish() } },
    ]
    let last = BlockOperation {}
    operations[1].addDependency(operations[0])
    last.addDependency(operations[1])
    let queue = OperationQueue()
    await withCheckedContinuation { done in
      last.completionBlock = { done.resume() }
      queue.addOperations(operations + [last], waitUntilFinished: false)
    }
    #expect(log == ["shown", "answered"])
    #expect(operations.allSatisfy { $0.isFinished && $0.isAsynchronous })
  }
}
