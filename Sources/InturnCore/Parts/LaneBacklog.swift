/// What is pending in a lane, beyond its buffer of jobs.
struct LaneBacklog {
  /// Created with the first operation that does not simply wait for its turn.
  var order: UnsafeMutablePointer<LaneOrder>?
  /// How many of the pending jobs are segments.
  var segments: UInt32 = 0
  /// How many segments have been called so far.
  var segmentsRun: UInt64 = 0
  /// On an actor lane: whether the buffer may hold segments or further attempts, which do not wait
  /// behind an operation that has not begun.
  var mayHaveBegun = false
  /// Whether any accepted operation is obstinate: a cancel-all does not end it before its start.
  var hasObstinate = false
  /// How many jobs in the buffers were cancelled and only wait to be dropped.
  var tombstones: UInt32 = 0
  /// The current round of squeezing those out, and how many jobs it may examine now.
  var round: UInt32 = 1
  var squeezeBudget = 0
  /// Cancelled operations without slots, whose contexts are to be destroyed.
  var graveyard = JobBuffer()
}
