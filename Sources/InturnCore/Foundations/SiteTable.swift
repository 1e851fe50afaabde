import CInturnSystem
import Synchronization

/// The lines of the program that have called the library, each one once. The table only grows,
/// without a lock. It is not part of the engine, because a forked child starts a new engine but
/// inherits this table: the numbers are stored in the program's memory.
package struct SiteTable {
  package struct Line {
    package let file: UnsafePointer<CChar>
    package let function: UnsafePointer<CChar>?
    package let number: UInt32

    var text: Text { Text(cString: file).inOneLine + ":" + Text(number) }
  }

  /// Addresses of lines, or zero. Exchanged with releasing order once a line is complete, loaded
  /// with acquiring order. The first entry stays empty.
  private let entries: UnsafeMutablePointer<Atomic<UInt>>

  private static var count: Int { 1 << 16 }
  /// How many entries are examined for a line. The first ones lie in a few pages of memory.
  private static var looks: Int { 64 }
  private static var firstLooks: Int { 16 }
  private static var firstCount: Int { 1 << 10 }
  /// This many words follow the entries and find lines by the addresses of their literals. The
  /// lower 16 bits of a word are a line's number; the upper bits say which line. Releasing and
  /// acquiring: whoever has the number must find the line.
  private static var knownCount: Int { 1 << 8 }

  /// The process's table. Nil when memory runs out.
  @inline(never)
  init?() {
    let address = UnsafeMutableRawPointer(inturn_system_sites())
      .assumingMemoryBound(to: Atomic<UInt>.self)
    let existing = address.pointee.load(ordering: .acquiring)
    if let entries = UnsafeMutablePointer<Atomic<UInt>>(bitPattern: existing) {
      self.entries = entries
      return
    }
    // Zeroed memory from the allocator is untouched pages.
    guard let memory = calloc(Self.count + Self.knownCount, MemoryLayout<UInt>.stride) else {
      return nil
    }
    let (isFirst, other) = address.pointee.compareExchange(
      expected: 0, desired: UInt(bitPattern: memory), ordering: .acquiringAndReleasing)
    if !isFirst { free(memory) }
    entries = UnsafeMutablePointer(bitPattern: isFirst ? UInt(bitPattern: memory) : other)!
  }

  /// The number of a line; 0 when it has none.
  func number(ofLiteral file: UnsafePointer<UInt8>, line: UInt32) -> UInt32 {
    let mark = Mark().adding(UInt64(UInt(bitPattern: file))).adding(UInt64(line)).bits
    let known = entries + Self.count + Int(mark >> 8 & UInt64(Self.knownCount - 1))
    let word = UInt64(known.pointee.load(ordering: .acquiring))
    if (word ^ mark) >> 16 == 0 { return UInt32(word & 0xFFFF) }
    let number = UnsafeRawPointer(file).withMemoryRebound(to: CChar.self, capacity: 1) {
      self.number(of: Line(file: $0, function: nil, number: line)) ?? 0
    }
    if number != 0 {
      known.pointee.store(UInt(mark & ~0xFFFF | UInt64(number)), ordering: .releasing)
    }
    return UInt32(number)
  }

  func line(_ number: UInt16) -> Line? { line(at: Int(number)) }

  private func line(at place: Int) -> Line? {
    UnsafePointer<Line>(bitPattern: entries[place].load(ordering: .acquiring))?.pointee
  }

  /// The number of a line. A new line is copied, as the module that contains it may be unloaded. 0
  /// when there is no room; nil when memory runs out.
  func number(of line: Line) -> UInt16? {
    let hash = Int(truncatingIfNeeded: line.hash >> 16)
    var new: UnsafeMutablePointer<Line>?
    for look in 0..<Self.looks {
      // Elsewhere when the first ones are taken, which lie side by side.
      let place =
        look < Self.firstLooks
        ? (hash &+ look) & (Self.firstCount - 1)
        : Self.firstCount + (hash &+ look) % (Self.count - Self.firstCount)
      if place == 0 { continue }
      if self.line(at: place) == nil {
        new = new ?? line.copy()
        guard let new else { return nil }
        let isExchanged = entries[place].compareExchange(
          expected: 0, desired: UInt(bitPattern: new), successOrdering: .releasing,
          failureOrdering: .acquiring
        ).exchanged
        if isExchanged { return UInt16(place) }
      }
      if self.line(at: place)!.isSame(as: line) {
        free(new)
        return UInt16(place)
      }
    }
    free(new)
    return 0
  }
}

extension SiteTable.Line {
  fileprivate var hash: UInt64 {
    var mark = Mark().adding(UInt64(number))
    var next = file
    while next.pointee != 0 {
      mark = mark.adding(UInt64(UInt8(bitPattern: next.pointee)))
      next += 1
    }
    return mark.bits
  }

  fileprivate func isSame(as other: Self) -> Bool {
    if number != other.number || strcmp(file, other.file) != 0 { return false }
    guard let function, let others = other.function else { return function == other.function }
    return strcmp(function, others) == 0
  }

  /// A copy of the line and its texts in one piece of memory.
  fileprivate func copy() -> UnsafeMutablePointer<Self>? {
    let head = MemoryLayout<Self>.stride
    let fileSize = strlen(file) + 1
    let functionSize = function.map { strlen($0) + 1 } ?? 0
    guard let memory = malloc(head + fileSize + functionSize) else { return nil }
    let texts = (memory + head).bindMemory(to: CChar.self, capacity: fileSize + functionSize)
    memcpy(texts, file, fileSize)
    if let function { memcpy(texts + fileSize, function, functionSize) }
    let copy = memory.bindMemory(to: Self.self, capacity: 1)
    copy.initialize(
      to: Self(
        file: texts, function: function == nil ? nil : UnsafePointer(texts + fileSize),
        number: number))
    return copy
  }
}
