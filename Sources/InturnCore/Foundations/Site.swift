import CInturnSystem
import Synchronization

/// A line of the program that has called the library, by its number in this process: 16 bits, which
/// an operation carries and a report turns into a file and a line.
package struct Site: Sendable {
  /// In the lower 16 bits: users who have no room for the others shift them out.
  let bits: UInt32

  /// The site of something whose origin nobody has stated.
  package static var unknown: Site { Site(bits: 0) }

  @inline(__always)
  init(bits: UInt32) { self.bits = bits }

  private var number: UInt16 { UInt16(truncatingIfNeeded: bits) }

  /// Memory that keeps a line's number once it has one; 0 before that.
  package typealias Cache = UnsafeMutablePointer<UInt32>

  /// The site in a cache. Nil when there is none yet.
  @inline(__always)
  package init?(in cache: Cache) {
    // Acquiring: whoever has the number finds the line in the table.
    let bits = atomic(cache).pointee.load(ordering: .acquiring)
    if bits == 0 { return nil }
    self.init(bits: bits)
  }

  /// In the cache of a line for which there was no room.
  private static var full: UInt32 { 1 << 16 }

  /// Looks up or assigns a line's number and stores it in the cache. When memory runs out, the site
  /// is unknown until the next time.
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
    atomic(cache).pointee.store(number == 0 ? Self.full : bits, ordering: .releasing)
  }

  /// The same for a line whose file is named by a literal of the program, by whose address it is
  /// found again.
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

  /// The line of the wait that this thread makes, or makes next; unknown once that is over.
  package static var ofWait: Site {
    @inline(__always) get { Site(bits: inturn_system_site_of_wait()) }
    @inline(__always) set { inturn_system_set_site_of_wait(newValue.bits) }
  }

  /// Calls `body`, which waits in this line.
  package func waiting<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    Site.ofWait = self
    defer { Site.ofWait = .unknown }
    return try body()
  }

  /// The line, which stays as long as the process; nil when it is unknown.
  package var line: SiteTable.Line? {
    number == 0 ? nil : SiteTable()?.line(number)
  }

  /// As in a message, such as ` (app.c:88)`; empty when it is unknown.
  var inBrackets: Text {
    @inline(never) get { line.map { " (" + $0.text + ")" } ?? "" }
  }

  /// The same after a label; empty if the label ends with the line, as labels in Swift may.
  func inBrackets(after label: Text?) -> Text {
    guard let text = line?.text else { return "" }
    return label?.ends(with: text) == true ? "" : inBrackets
  }
}
