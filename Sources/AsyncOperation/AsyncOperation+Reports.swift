import Foundation
import Inturn

extension AsyncOperation {
  /// Says where the operation was made, for reports.
  ///
  /// The classes that are made with closures know it by themselves. A subclass whose initialiser
  /// takes the two with the same defaults, and hands them over, is reported with the place of its
  /// caller.
  public final func setOrigin(fileID: StaticString = #fileID, line: UInt = #line) {
    storage.site = Site(fileID, line)
  }
}

extension Operation {
  /// Where it was made, as far as that is known.
  fileprivate final var site: Site { (self as? AsyncOperation)?.storage.site ?? .unknown }

  /// The operation in a message: its name, its class, where it was made.
  final var described: String {
    var text = "operation"
    if let name, !name.isEmpty { text += " " + name.withCString(InturnCore.Report.quoted) }
    text += " (\(type(of: self))"
    if let place = site.text { text += ", made at \(place)" }
    return text + ")"
  }
}

extension InturnCore.Report {
  static func lostToken(of operation: AsyncOperation) -> Self {
    Self(
      kind: .lostToken,
      message: "\(operation.described) was abandoned: its finish callback was lost uncalled",
      operationLabel: operation.name, site: operation.site)
  }

  static func ring(_ error: QueueError, of operation: AsyncOperation) -> Self {
    Self(
      kind: .deadlock, message: "refused \(error)", operationLabel: operation.name,
      site: operation.site)
  }
}
