import Foundation

/// Asks one question at a time; a thread of its own reads the answers.
final class Terminal: Sendable {
  /// Takes a line, or nil at the end of the input; says whether the question is answered. It is
  /// asked again when it is not. Called on the terminal's thread.
  typealias Answer = @Sendable (String?) -> Bool

  private struct Question: Sendable {
    let text: String
    let answer: Answer
  }

  private let questions: AsyncStream<Question>.Continuation

  init() {
    let (stream, questions) = AsyncStream<Question>.makeStream()
    self.questions = questions
    // Reading blocks its thread: that is none of those that tasks share.
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

  /// Asks a question and returns. From any thread.
  func ask(_ label: String, _ question: String, answer: @escaping Answer) {
    questions.yield(Question(text: "[\(label)] \(question) ", answer: answer))
  }

  /// Prints the beginning of a line, at once.
  static func show(_ text: String) {
    print(text, terminator: "")
    fflush(nil)
  }

  /// Says what is wrong, and ends the program.
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
