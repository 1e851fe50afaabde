/// The options of a queue, checked; see `inturn_queue_options`.
package struct QueueOptions {
  var traits: LaneTraits
  package var label: UnsafePointer<CChar>?
  package var executor: Executor?
  package var clock: Clock?
  package var capacity: UInt64 = 0
  /// How many operations run at most, for a limited kind; 0 for the default.
  package var limit: UInt32 = 0
  package var settle: Int64 = 500_000_000
  package var gap: Int64 = 250_000_000
  package var rate: StartRate?
  package var stall = StallLimit.standard
  package var onEvent: Callback<QueueEvent>?

  package init(kind: QueueKind) { traits = LaneTraits(kind) }
}
