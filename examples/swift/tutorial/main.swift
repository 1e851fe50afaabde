// The tutorial's uploader, step by step.
//
//     swift run --package-path examples/swift tutorial

import AsyncOperation
import Foundation

struct NotArrived: Error {}

/// Stands for a library: it uploads in the background, and calls back on a thread of its own.
func startUpload(_ photo: String, whenDone: @escaping @Sendable (Bool) -> Void) {
  let seconds = photo == "beach.jpg" ? 0.03 : 0.01
  Thread.detachNewThread {
    Thread.sleep(forTimeInterval: seconds)
    whenDone(photo != "broken.jpg")
  }
}

func upload(_ photo: String, _ token: FinishToken) {
  print("starting:", photo)
  startUpload(photo) { arrived in
    if arrived {
      print("arrived:", photo)
      token.finish()
    } else {
      token.fail(NotArrived())
    }
  }
}

func inOrder() async throws {
  let queue = ConcurrentQueue(label: "uploads", maxConcurrent: 1)
  for photo in ["beach.jpg", "city.jpg"] {
    queue.enqueue { token in upload(photo, token) }
  }
  try await queue.drain()
}

func toldOfTheEnd() async throws {
  let queue = ConcurrentQueue(label: "uploads", maxConcurrent: 1)
  let photos = ["broken.jpg", "city.jpg"]
  let operations = photos.map { photo in queue.enqueue { token in upload(photo, token) } }
  try await queue.drain()
  for (photo, operation) in zip(photos, operations) {
    print("ended:", photo, await operation.waitForEnd().outcome)
  }
}

func cancelled() async throws {
  let queue = ConcurrentQueue(label: "uploads", maxConcurrent: 1)
  queue.suspend()  // So that nothing starts yet.
  let first = queue.enqueue { token in upload("beach.jpg", token) }
  let second = queue.enqueue { token in upload("city.jpg", token) }
  first.cancel()
  queue.resume()
  queue.close()
  try await queue.drain()
  print("beach.jpg:", await first.waitForEnd().outcome)
  print("city.jpg:", await second.waitForEnd().outcome)
}

func save(_ text: String) async -> Int {
  print("saved:", text)
  return text.count
}

func asyncFunctions() async throws {
  let queue = ConcurrentQueue(label: "saves", maxConcurrent: 1)
  let first = queue.enqueueTask { await save("a draft") }  // It has its place now.
  let count = try await queue.enqueueTask { await save("the text") }.value
  print("characters:", count)
  _ = try await first.value
}

try await inOrder()
try await toldOfTheEnd()
try await cancelled()
try await asyncFunctions()
