import Foundation

/// What an operation knows of its place among dependencies, beside Foundation's list of them.
struct DependencyLinks {
  /// Dependencies that are about to be added. Those who look for rings see them already, so that
  /// of two threads that close a ring together one at least finds it.
  var announced: [Operation] = []
  /// Whether an operation of this class has ever been made to wait for this one.
  var hasDependents = false
  /// Whether this operation has ever been made to wait for one of ours, or for one of Foundation's.
  var hasDependencies = false
  var hasPlainDependencies = false
  /// Whether a search for rings is under way that was not asked for.
  var isSearching = false
}
