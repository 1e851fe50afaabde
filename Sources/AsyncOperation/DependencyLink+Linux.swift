#if !canImport(Darwin)
  import Foundation
  import Synchronization

  /// Stands between an operation and one that it depends on: it depends on the one, and the other
  /// depends on it.
  ///
  /// Foundation on Linux keeps a bare pointer to each dependent, and uses it when the dependency
  /// finishes: an operation that goes away at that moment would be used afterwards, even if it
  /// removes its dependencies first. A link is removed while it is retained, and it ends only while
  /// it retains the dependent.
  final class DependencyLink: Operation, @unchecked Sendable {
    // Safe to share: `dependency` becomes nil once no other thread finds the link any more. The weak
    // reference becomes nil atomically.

    private(set) var dependency: Operation?
    private weak let dependent: AsyncOperation?
    /// Whether some thread has begun to end it. Relaxed: it only tells the first thread from others.
    private let isOpen = Atomic(false)

    init(from dependent: AsyncOperation, to dependency: Operation) {
      self.dependent = dependent
      self.dependency = dependency
      super.init()
      addDependency(dependency)
    }

    /// Foundation asks, without a lock, as soon as the dependency has finished.
    override var isReady: Bool {
      if super.isReady { open() }
      return super.isReady
    }

    private func open() {
      guard let dependent, !isOpen.exchange(true, ordering: .relaxed) else { return }
      withExtendedLifetime(dependent) { start() }
    }

    /// Foundation knows the link no longer as one that depends on the dependency.
    func detach() { if let dependency, !isFinished { removeDependency(dependency) } }

    /// The dependent goes on. Removing a dependency does not make an operation ready on Linux, but
    /// cancelling it does.
    func cut() {
      detach()
      // Foundation keeps the link in the dependent's list: the two might retain each other.
      dependency = nil
      cancel()
    }
  }

  extension AsyncOperation {
    /// The link to a new dependency; nil if there is one already.
    func makeLink(to dependency: Operation) -> DependencyLink? {
      let link = DependencyLink(from: self, to: dependency)
      let isNew = storage.withLinks { links in
        if links.made.contains(where: { $0.dependency === dependency }) { return false }
        links.made.append(link)
        return true
      }
      if isNew { return link }
      link.detach()
      return nil
    }

    func removeLink(to dependency: Operation) {
      let link = storage.withLinks { links in
        let index = links.made.firstIndex { $0.dependency === dependency }
        return index.map { links.made.remove(at: $0) }
      }
      link?.cut()
    }

    /// The operation goes away.
    func takeLinks() -> [DependencyLink] {
      let links = storage.withLinks { links in
        defer { links.made = [] }
        return links.made
      }
      for link in links { link.detach() }
      return links
    }
  }
#endif
