import Foundation
import Inturn

extension AsyncOperation {
  /// Sets where the operation was created, for reports.
  ///
  /// Classes that are created with closures set it themselves. If a subclass's initialiser takes
  /// these two parameters with the same defaults and passes them on, reports name its caller's
  /// line.
  public final func setOrigin(fileID: StaticString = #fileID, line: UInt = #line) {
    storage.site = Site(fileID, line)
  }
}

extension Operation {
  /// Where it was created, if known.
  fileprivate final var site: Site { (self as? AsyncOperation)?.storage.site ?? .unknown }

  /// The operation in a message: its name, its class, and where it was created.
  final var described: String {
    var text = "operation"
    if let name, !name.isEmpty { text += " " + name.quoted }
    text += " (\(type(of: self))"
    if let place = site.text { text += ", made at \(place)" }
    return text + ")"
  }
}

extension InturnCore.Report {
  static func lostToken(of operation: AsyncOperation) -> Self {
    Self(
      .lostToken, "\(operation.described) was abandoned: its finish callback was lost uncalled",
      operationLabel: operation.name, at: operation.site)
  }

  static func ring(_ error: QueueError, of operation: AsyncOperation) -> Self {
    Self(
      .deadlock, "refused \(error)", operationLabel: operation.name, at: operation.site)
  }
}
