#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A benchmark program and its command line: `.../PROGRAM-PEER CASE NUMBER...`.
public struct Program: Sendable {
  public let peer: String
  private let testCase: String
  private let numbers: [Int]

  /// Exits if there are not exactly this many numbers.
  public init(numbers count: Int) {
    let arguments = CommandLine.arguments
    let numbers = arguments.dropFirst(2).compactMap { Int($0) }
    guard let dash = arguments[0].lastIndex(of: "-"), numbers.count == count,
      arguments.count == count + 2
    else { Self.stop("it is called as PROGRAM-PEER, with a case and \(count) numbers") }
    peer = String(arguments[0][arguments[0].index(after: dash)...])
    testCase = arguments[1]
    self.numbers = numbers
  }

  public subscript(_ index: Int) -> Int { numbers[index] }

  /// Prints one figure in the form that report.py reads.
  public func print(_ metric: String, _ value: Double) {
    let scaled = Int((value * 10_000).rounded())
    let (whole, rest) = (abs(scaled) / 10_000, abs(scaled) % 10_000)
    let digits = String(rest)
    let padded = String(repeating: "0", count: 4 - digits.count) + digits
    Swift.print("\(testCase),\(peer),\(metric),\(scaled < 0 ? "-" : "")\(whole).\(padded)")
  }

  public func require(_ holds: Bool, _ what: String) {
    if !holds { Self.stop("\(peer): this does not hold: \(what)") }
  }

  public func unknownPeer() -> Never { Self.stop("there is no peer \(peer) here") }

  private static func stop(_ message: String) -> Never {
    Swift.print("\(CommandLine.arguments[0]): \(message)")
    exit(1)
  }

  /// Prints the time per operation: for a first burst in a new process, and the median of five more.
  /// `burst` returns its nanoseconds.
  public func printBursts(operations: Int, _ burst: () async -> Double) async {
    let first = await burst()
    var later: [Double] = []
    for _ in 0..<5 { later.append(await burst()) }
    print("ns_per_operation", later.sorted()[2] / Double(operations))
    print("first_burst_ns_per_operation", first / Double(operations))
  }
}

/// How many nanoseconds a body takes.
public func nanoseconds(
  isolation: isolated (any Actor)? = #isolation, _ body: () async -> Void
) async -> Double {
  let clock = ContinuousClock()
  let start = clock.now
  await body()
  let (seconds, attoseconds) = start.duration(to: clock.now).components
  return Double(seconds) * 1e9 + Double(attoseconds) / 1e9
}
