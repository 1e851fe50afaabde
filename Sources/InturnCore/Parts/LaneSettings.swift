/// The settings that a queue was created with or has been given since.
struct LaneSettings {
  /// Owned memory.
  var label: UnsafeMutablePointer<CChar>?
  /// Retained. Nil for the system's clock.
  var clock: Unmanaged<Clock>?
  /// How many operations may be pending; 0 for no limit.
  var capacity: UInt64 = 0
  /// After how long it is reported as stuck.
  var stall = StallLimit.standard
  /// How many operations may run at a time.
  var limit: UInt32 = 0
  /// For a destroyed lane: its place in the slab.
  var index: UInt32 = 0
}
