/// What waits in a lane, where that is more than a buffer of jobs.
struct LaneBacklog {
  /// Made with the first operation that is not simply taken in its turn.
  var order: UnsafeMutablePointer<LaneOrder>?
  /// How many of the pending jobs are segments.
  var segments: UInt32 = 0
  /// How many have been called so far.
  var segmentsRun: UInt64 = 0
  /// Of an actor lane: whether the buffer may have jobs of operations that have begun, which do not
  /// wait behind one that has not.
  var mayHaveBegun = false
  /// Operations were accepted that a cancel of all does not end before their start.
  var hasObstinate = false
  /// How many of the jobs in the buffer were cancelled and only wait to be passed over.
  var tombstones: UInt32 = 0
  /// The round in which those are squeezed out, and how many jobs it may look at now.
  var round: UInt32 = 1
  var squeezeBudget = 0
  /// Operations without slots that were cancelled and whose contexts are to be destroyed.
  var graveyard = JobBuffer()
}
