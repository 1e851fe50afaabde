import Synchronization

/// A line of the program from which the library was called, as the number that it has in this process:
/// 16 bits, which an operation carries and a report turns into a file and a line.
package struct Site: Sendable {
  /// In the lower 16 bits: who has no use for the others shifts them out.
  let bits: UInt32

  /// Of what nobody has said where it comes from.
  package static var unknown: Site { Site(bits: 0) }

  @inline(__always)
  init(bits: UInt32) { self.bits = bits }

  private var number: UInt16 { UInt16(truncatingIfNeeded: bits) }

  /// A place in memory that keeps the number of a line once it has one; 0 before that.
  package typealias Cache = UnsafeMutablePointer<UInt32>

  /// What is in a cache. Nil when it has none yet.
  @inline(__always)
  package init?(in cache: Cache) {
    // Acquiring: who has the number finds the line in the table.
    let bits = Self.atomic(cache).pointee.load(ordering: .acquiring)
    if bits == 0 { return nil }
    self.init(bits: bits)
  }

  /// Of a line that there was no room for.
  private static var full: UInt32 { 1 << 16 }

  private static func atomic(_ cache: Cache) -> UnsafeMutablePointer<Atomic<UInt32>> {
    UnsafeMutableRawPointer(cache).assumingMemoryBound(to: Atomic<UInt32>.self)
  }

  /// The number of a line, which its cache gets. Where memory runs out it is unknown until the next
  /// time.
  package init(
    file: UnsafePointer<CChar>, _ function: UnsafePointer<CChar>?, line: UInt32, cache: Cache?
  ) {
    guard let table = SiteTable() else {
      self = .unknown
      return
    }
    let number = table.number(of: SiteTable.Line(file: file, function: function, number: line))
    self.init(bits: UInt32(number ?? 0))
    guard let cache, let number else { return }
    Self.atomic(cache).pointee.store(number == 0 ? Self.full : bits, ordering: .releasing)
  }

  /// The same for a line whose file is named by a literal of the program, by whose address it is found
  /// again.
  package init(_ fileID: StaticString, _ line: UInt) {
    if !fileID.hasPointerRepresentation {
      self = .unknown
    } else {
      self.init(literal: fileID.utf8Start, UInt32(truncatingIfNeeded: line))
    }
  }

  package init(literal file: UnsafePointer<UInt8>, _ line: UInt32) {
    self.init(bits: SiteTable()?.number(ofLiteral: file, line: line) ?? 0)
  }

  /// The line; nil where it is unknown. It stays as long as the process does.
  package var line: SiteTable.Line? {
    number == 0 ? nil : SiteTable()?.line(number)
  }

  /// As a message has it, such as ` (app.c:88)`; empty where it is unknown.
  var inBrackets: String {
    @inline(never) get { line.map { " (" + $0.text + ")" } ?? "" }
  }

  /// The same after a label, which in Swift ends with the line itself.
  func inBrackets(after label: String?) -> String {
    guard let text = line?.text else { return "" }
    return label?.utf8.suffix(text.utf8.count).elementsEqual(text.utf8) == true
      ? "" : inBrackets
  }
}
