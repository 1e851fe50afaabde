/// What a queue was made with, or was told since.
struct LaneSettings {
  /// Its own memory.
  var label: UnsafeMutablePointer<CChar>?
  /// Retained. Nil: the system's clock.
  var clock: Unmanaged<Clock>?
  /// How many operations may be pending; 0 for any number.
  var capacity: UInt64 = 0
  /// How many may run at a time.
  var limit: UInt32 = 0
  /// Of a destroyed lane: its place in the slab.
  var index: UInt32 = 0
}
