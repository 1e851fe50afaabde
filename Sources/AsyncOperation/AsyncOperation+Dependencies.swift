import Foundation
import Inturn

/// Finding and breaking rings of dependencies.
extension AsyncOperation {
  /// Whether a dependency would close a ring. If so, the ring is reported and this operation ends
  /// as failed. If not, the dependency is noted as announced.
  func closesRing(_ dependency: Operation) -> Bool {
    let ours = dependency as? AsyncOperation
    storage.withLinks {
      $0.announced.append(dependency)
      $0.hasDependencies = true
    }
    ours?.storage.withLinks { $0.hasDependents = true }
    // In a ring of our operations only, one of ours waits for this one.
    let mayBeOfOurs = ours != nil && storage.withLinks { $0.hasDependents }
    if ours != nil && !mayBeOfOurs { return false }
    let limit = mayBeOfOurs ? Int.max : DependencySearch.unaskedLimit
    let found = DependencySearch.ring(from: self, by: [dependency], limit: limit)
    guard let ring = found, ring.first === self else { return false }
    withdraw(dependency)
    fail(for: ring)
    return true
  }

  /// An announced dependency has been added, or will not be.
  func withdraw(_ dependency: Operation) {
    storage.withLinks { links in
      if let index = links.announced.lastIndex(where: { $0 === dependency }) {
        links.announced.remove(at: index)
      }
    }
  }

  /// Looks for rings through Foundation's own operations, which give no notice when they are
  /// closed. On another thread, as whoever asks whether the operation is ready may hold locks.
  func searchLater() {
    let isToSearch = storage.withLinks { links in
      let isToSearch = links.hasPlainDependencies && !links.isSearching
      if isToSearch { links.isSearching = true }
      return isToSearch
    }
    if !isToSearch { return }
    DispatchQueue.global().async { [weak self] in
      guard let self else { return }
      storage.withLinks { $0.isSearching = false }
      breakRing(limit: DependencySearch.unaskedLimit)
    }
  }

  /// If this operation is in a ring or waits for one, ends one of our operations in it, if there is
  /// any.
  func breakRing(limit: Int = .max) {
    guard !isFinished, let ring = DependencySearch.ring(from: self, limit: limit) else { return }
    // There is always an operation behind a gate.
    let isBreakable = { (member: Operation) in member is AsyncOperation && !(member is OrderGate) }
    guard let index = ring.firstIndex(where: isBreakable) else { return }
    let member = ring[index] as! AsyncOperation
    let members = Array(ring[index...] + ring[..<index])
    if member.fail(for: members) { member.leaveRing(members.count > 1 ? members[1] : member) }
  }

  @discardableResult
  private func fail(for ring: [Operation]) -> Bool {
    let members = ring.map(\.described)
    let error = QueueError.deadlock(
      "a ring of dependencies: "
        + (members + members.prefix(1)).joined(separator: " waits for "))
    return conclude(as: .failed(error), report: .ring(error, of: self))
  }
}
