/// A ring of dependencies, which no operation in it would ever have left.
///
/// The operation that would have closed it, or one of those in it, ends as failed with this.
public struct DependencyCycle: Error, CustomStringConvertible {
  /// The operations, each waiting for the next and the last one for the first: their names,
  /// classes, and where they were made.
  public let members: [String]

  /// The members, each of which waits for the next, in one line.
  public var description: String {
    "a ring of dependencies: "
      + (members + members.prefix(1)).joined(separator: " waits for ")
  }
}
