/// Where in a program an operation was made.
struct Origin: Sendable {
  let fileID: StaticString
  let line: UInt
}
