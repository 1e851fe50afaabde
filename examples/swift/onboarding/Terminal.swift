import Foundation

/// Asks one question at a time; a thread of its own reads the answers.
final class Terminal: Sendable {
  /// Takes a line, or nil at the end of the input; returns whether the question is answered. If not, it
  /// is asked again. Called on the terminal's thread.
  typealias Answer = @Sendable (String?) -> Bool

  private struct Question: Sendable {
    let text: String
    let answer: Answer
  }

  private let questions: AsyncStream<Question>.Continuation

  init() {
    let (stream, questions) = AsyncStream<Question>.makeStream()
    self.questions = questions
    // Reading blocks its thread, which must not be one of those that tasks share.
    let reader = DispatchQueue(label: "terminal")
    Task {
      for await question in stream {
        await withCheckedContinuation { done in
          reader.async {
            Self.read(question)
            done.resume()
          }
        }
      }
    }
  }

  /// Asks a question and returns. Any thread may call it.
  func ask(_ label: String, _ question: String, answer: @escaping Answer) {
    questions.yield(Question(text: "[\(label)] \(question) ", answer: answer))
  }

  /// Prints the beginning of a line at once.
  static func show(_ text: String) {
    print(text, terminator: "")
    fflush(nil)
  }

  /// Prints what is wrong, and ends the program.
  static func fail(_ text: String) -> Never {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
    exit(EXIT_FAILURE)
  }

  private static func read(_ question: Question) {
    let echoes = isatty(STDIN_FILENO) == 0  // a terminal shows what is typed
    var isAnswered = false
    while !isAnswered {
      show(question.text)
      let line = readLine()
      if line == nil || echoes { print(line ?? "(end of input)") }
      isAnswered = question.answer(line)
    }
  }
}
