/// The line of the program that added an operation; in two words.
struct Origin: Sendable, CustomStringConvertible {
  private let file: UInt
  private let length: UInt32
  private let line: UInt32

  /// Of what cannot be awaited.
  static let none = Origin()

  private init() { (file, length, line) = (0, 0, 0) }

  @inline(__always)
  init(_ fileID: StaticString, _ line: UInt) {
    self.line = UInt32(truncatingIfNeeded: line)
    if fileID.hasPointerRepresentation {
      self.file = UInt(bitPattern: fileID.utf8Start)
      length = UInt32(truncatingIfNeeded: fileID.utf8CodeUnitCount)
    } else {
      (self.file, length) = (0, 0)
    }
  }

  /// The same for the engine.
  var site: Site {
    guard let file = UnsafePointer<UInt8>(bitPattern: file) else { return .unknown }
    return Site(literal: file, line)
  }

  var description: String {
    let name = UnsafeBufferPointer<UInt8>(
      start: UnsafePointer(bitPattern: file), count: Int(length))
    return "\(String(decoding: name, as: UTF8.self)):\(line)"
  }
}
