import InturnCore

/// A program's strings as the engine's texts, and the other way round.
extension String {
  package init(_ text: Text) { self = text.withCString { String(cString: $0) } }

  /// In one line, whatever it contains.
  package var inOneLine: String { String(Text(self).inOneLine) }

  /// In quotation marks, for a message; in one line, whatever it contains.
  package var quoted: String { "\"\(inOneLine)\"" }
}

extension Text {
  package init(_ string: String) { self.init(cString: string) }
}

extension InturnCore.Report {
  package init(
    _ kind: Kind, _ message: String, queueLabel: String? = nil, operationLabel: String? = nil,
    at site: Site
  ) {
    self.init(
      kind: kind, message: Text(message), queueLabel: queueLabel.map { Text($0) },
      operationLabel: operationLabel.map { Text($0) }, site: site)
  }
}
