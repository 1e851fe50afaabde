import InturnCore

extension ValueChange {
  @inlinable
  init(_ entry: TrailEntry<T>) {
    let kind: Kind =
      switch entry.kind {
      case .change: .change
      case .initial: .initial
      case .prior: .prior
      }
    self.init(kind: kind, number: entry.number, old: entry.old, new: entry.new)
  }
}
