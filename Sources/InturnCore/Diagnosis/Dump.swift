import CInturnSystem

/// Writes a snapshot. The numbers of the formats are those of `inturn_dump_format`.
package struct Dump {
  package enum Format: Int32 {
    case text = 1
    case json, dot, html
  }

  private var writer: DumpWriter
  private var isFirst = true
  private var plain: UInt64 = 0

  private init(_ writer: DumpWriter) { self.writer = writer }

  /// Writes the whole snapshot to a descriptor. False if writing fails.
  package static func write(to descriptor: Int32, as format: Format) -> Bool {
    // Small enough to be allocated on the stack.
    withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 8) { memory in
      var dump = Dump(DumpWriter(descriptor, memory))
      dump.write(format)
      dump.writer.flush()
      return !dump.writer.hasFailed
    }
  }

  private mutating func write(_ format: Format) {
    switch format {
    case .text:
      visit { $0.writeLine(of: $1) }
      writeSteps("last steps:\n") { $0.write($1) }
    case .json: writeJSON()
    case .dot:
      writer.write("digraph inturn {\nrankdir=LR; node [shape=box, fontname=\"sans-serif\"];\n")
      visit { $0.writeNode(of: $1) }
      writer.write("}\n")
    case .html:
      writer.write(inturn_system_page_before())
      writeJSON()
      writer.write(inturn_system_page_after())
    }
  }

  private mutating func visit(_ write: (inout Dump, SnapshotEntry) -> Void) {
    Engine.snapshot {
      write(&self, $0)
      return !writer.hasFailed
    }
  }

  /// What the recorder has of all queues, after this heading; nothing when it has nothing.
  private mutating func writeSteps(
    _ heading: StaticString, _ write: (inout DumpWriter, UnsafePointer<CChar>) -> Void
  ) {
    guard let steps = Trace.lastSteps(of: nil) else { return }
    writer.write(heading)
    write(&writer, steps)
    free(steps)
  }

  // MARK: JSON

  private mutating func writeJSON() {
    writer.write("{\"now_ns\":")
    writer.write(inturn_system_now())
    writer.write(",\"entries\":[")
    visit { $0.writeObject(of: $1) }
    writer.write("\n]")
    writeSteps(",\"steps\":") { $0.writeQuoted($1) }
    writer.write("}\n")
  }

  private mutating func writeObject(of entry: SnapshotEntry) {
    writer.write(isFirst ? "\n{\"kind\":\"" : ",\n{\"kind\":\"")
    isFirst = false
    writer.write(entry.kind.name)
    writer.write("\"")
    for place in 0..<SnapshotEntry.fields {
      guard let (key, value) = entry.field(place) else { continue }
      writer.write(",\"")
      writer.write(key)
      writer.write("\":")
      if case .number(let number) = value {
        writer.write(number)
      } else {
        writer.write("\"")
        write(value)
        writer.write("\"")
      }
    }
    if !entry.flags.isEmpty {
      var joint: StaticString = ",\"flags\":[\""
      entry.flags.forEachName { name in
        writer.write(joint)
        writer.write(name)
        joint = "\",\""
      }
      writer.write("\"]")
    }
    if entry.hasLabel {
      writer.write(",\"label\":")
      writer.writeQuoted(entry.label)
    }
    if let line = entry.site.line {
      writer.write(",\"file\":")
      writer.writeQuoted(line.file)
      writer.write(",\"line\":")
      writer.write(Int64(line.number))
    }
    writer.write("}")
  }

  @inline(never)
  private mutating func write(_ value: SnapshotEntry.Value) {
    switch value {
    case .name(let name): writer.write(name)
    case .handle(let handle): writer.write(handle)
    case .number(let number): writer.write(number)
    }
  }

  // MARK: Text

  private mutating func writeLine(of entry: SnapshotEntry) {
    let isInside = entry.kind == .after || entry.kind == .name
    writer.write(isInside ? "    " : entry.kind == .operation ? "  " : "")
    writer.write(entry.kind.name)
    if entry.hasLabel {
      writer.write(" ")
      writer.writeQuoted(entry.label, forScript: false)
    }
    entry.flags.forEachName { name in
      writer.write(" ")
      writer.write(name)
    }
    for place in 0..<SnapshotEntry.fields {
      guard let (key, value) = entry.field(place) else { continue }
      writer.write(" ")
      if case .name = value {
      } else {
        writer.write(key)
        writer.write("=")
      }
      write(value)
    }
    if let line = entry.site.line {
      writer.write(" file=")
      writer.writeQuoted(line.file, forScript: false)
      writer.write(" line=")
      writer.write(Int64(line.number))
    }
    writer.write("\n")
  }

  // MARK: DOT

  /// An arrow leads from what waits to what it waits for.
  private mutating func writeNode(of entry: SnapshotEntry) {
    switch entry.kind {
    case .queue:
      node(entry.id, entry, entry.cause == .none ? "" : entry.cause.name, "style=bold")
    case .operation where entry.id.bits == 0:
      plain += 1
      writer.write("plain")
      writer.write(plain)
      writer.write(" [style=dashed, label=\"")
      writer.write(entry.count)
      writer.write(" pending\"];\nplain")
      writer.write(plain)
      writer.write(" -> \"")
      writer.write(entry.queue)
      writer.write("\";\n")
    case .operation:
      node(entry.id, entry, entry.cause.name, "style=rounded")
      if entry.state == .running {
        arrow(entry.queue, entry.id)
      } else if entry.cause == .turn {
        arrow(entry.id, entry.queue)
      }
    case .after: arrow(entry.operation, entry.other)
    case .name where entry.other.bits != 0:
      arrow(entry.operation, entry.other, entry.label)
    case .wait:
      let target = entry.operation.bits != 0 ? entry.operation : entry.queue
      if entry.other.bits != 0 && target.bits != 0 { arrow(entry.other, target) }
    default: break
    }
  }

  private mutating func node(
    _ id: Handle, _ entry: SnapshotEntry, _ cause: StaticString, _ style: StaticString
  ) {
    writer.write("\"")
    writer.write(id)
    writer.write("\" [")
    writer.write(style)
    writer.write(", label=")
    if entry.hasLabel {
      writer.writeQuoted(entry.label, forScript: false)
    } else {
      writer.write("\"")
      if entry.kind == .operation, let line = entry.site.line {
        writer.writeEscaped(line.file, forScript: false)
        writer.write(":")
        writer.write(Int64(line.number))
      } else {
        writer.write(id)
      }
      writer.write("\"")
    }
    writer.write(", xlabel=\"")
    writer.write(cause)
    writer.write("\"];\n")
  }

  private mutating func arrow(_ from: Handle, _ to: Handle, _ label: SnapshotEntry.Label? = nil) {
    writer.write("\"")
    writer.write(from)
    writer.write("\" -> \"")
    writer.write(to)
    writer.write("\"")
    if let label {
      writer.write(" [label=")
      writer.writeQuoted(label, forScript: false)
      writer.write("]")
    }
    writer.write(";\n")
  }
}
