import Foundation

/// What an operation knows about its dependencies, in addition to Foundation's list.
struct DependencyLinks {
  /// Dependencies that are about to be added. Searches for rings see them already, so that of two
  /// threads that close a ring together, at least one finds it.
  var announced: [Operation] = []
  #if !canImport(Darwin)
    /// What is added to Foundation's list, in the order of the dependencies.
    var made: [DependencyLink] = []
  #endif
  /// Whether an operation of this class has ever depended on this one.
  var hasDependents = false
  /// Whether this operation has ever depended on one of ours, or on one of Foundation's.
  var hasDependencies = false
  var hasPlainDependencies = false
  /// Whether a search for rings is under way that nobody has asked for.
  var isSearching = false
}
