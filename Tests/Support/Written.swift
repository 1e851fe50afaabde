import Foundation
import Testing

/// The text that is written to a descriptor.
package func written(_ write: (Int32) -> Bool) throws -> String {
  let url = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
  try Data().write(to: url)
  defer { try? FileManager.default.removeItem(at: url) }
  let file = try FileHandle(forWritingTo: url)
  #expect(write(file.fileDescriptor))
  try file.close()
  return try String(contentsOf: url, encoding: .utf8)
}
