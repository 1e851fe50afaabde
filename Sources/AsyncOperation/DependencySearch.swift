import Foundation

/// A search for rings of dependencies: depth first, each operation once.
struct DependencySearch {
  /// The limit for searches that nobody has asked for, so that many of them cost little.
  static var unaskedLimit: Int { 1_000 }

  private struct Step {
    let operation: Operation
    var dependencies: [Operation]
  }

  /// The ring that a walk from an operation runs into; each member waits for the next one.
  ///
  /// - Parameters:
  ///   - first: The dependencies with which the walk begins; nil for all.
  ///   - limit: After how many operations the walk gives up.
  static func ring(
    from start: Operation, by first: [Operation]? = nil, limit: Int = .max
  ) -> [Operation]? {
    var path = [Step(operation: start, dependencies: first ?? dependencies(of: start))]
    var onPath: Set<ObjectIdentifier> = [ObjectIdentifier(start)]
    var seen = onPath
    while !path.isEmpty {
      guard let next = path[path.count - 1].dependencies.popLast() else {
        onPath.remove(ObjectIdentifier(path.removeLast().operation))
        continue
      }
      let identity = ObjectIdentifier(next)
      if onPath.contains(identity) {
        return path.map(\.operation).drop { $0 !== next }.map { $0 }
      }
      // A finished operation holds nobody up.
      if !seen.insert(identity).inserted || next.isFinished { continue }
      if seen.count > limit { return nil }
      onPath.insert(identity)
      path.append(Step(operation: next, dependencies: dependencies(of: next)))
    }
    return nil
  }

  private static func dependencies(of operation: Operation) -> [Operation] {
    guard let ours = operation as? AsyncOperation else { return operation.dependencies }
    return ours.dependencies + ours.announcedDependencies
  }
}
