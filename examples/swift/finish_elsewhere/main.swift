// Swift enqueues, C finishes: pages for a printer whose driver is written in C.
//
//     swift run --package-path examples/swift finish_elsewhere
//
// What to look at: the work passes its token to C as the context of a completion callback, and returns.
// The printer (examples/c/printer.c) takes one page at a time, and would refuse a second one: the next
// page's work is called when the printer's thread has ended the previous one.

import AsyncOperation
import Foundation
import Printer

struct PrinterError: Error { let code: Int32 }

/// What the printer passes back: a page's name and its token.
final class Page: Sendable {
  let name: String
  private let token: FinishToken

  init(_ name: String, _ token: FinishToken) { (self.name, self.token) = (name, token) }

  func end(_ error: Int32) {
    print("\(name): \(error == 0 ? "printed" : "failed")")
    if error == 0 { token.finish() } else { token.fail(PrinterError(code: error)) }
  }

  /// The printer's completion callback.
  static let done: @convention(c) (UnsafeMutableRawPointer?, Int32) -> Void = { context, error in
    Unmanaged<Page>.fromOpaque(context!).takeRetainedValue().end(error)
  }
}

let printer = OperationQueue()
printer.maxConcurrentOperationCount = 1
for name in ["page 1", "page 2", "torn page", "page 4"] {
  printer.addOperation(
    AsyncBlockOperation(withToken: { token in
      print("\(name): to the printer")
      let context = Unmanaged.passRetained(Page(name, token)).toOpaque()
      let error = printer_print(name, Page.done, context)
      if error != 0 { Page.done(context, error) }
    }))
}
printer.waitUntilAllOperationsAreFinished()
