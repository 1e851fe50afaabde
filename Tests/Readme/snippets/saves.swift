import AsyncQueue

actor Disk {
  private var text = ""

  func write(_ text: String) {
    self.text = text
    print("written")
  }

  func sync() throws { print("synchronised") }

  func read() -> String { text }
}

let disk = Disk()
let document = "a document"
// SNIPPET
try await task.value
print(text)
