/// What a lane has besides its cache line: nothing, a label, or an extra part.
///
/// One word: the extra part's address, or the complement of the label's address, which is negative
/// because no address is. A label alone costs only its bytes, and one comparison says whether there
/// is an extra part. Zero means nothing.
struct LaneMore {
  private var word = 0

  var extra: UnsafeMutablePointer<LaneExtra>? {
    @inline(__always) get { word > 0 ? UnsafeMutablePointer(bitPattern: word) : nil }
  }

  var label: UnsafeMutablePointer<CChar>? {
    word < 0 ? UnsafeMutablePointer(bitPattern: ~word) : extra?.pointee.settings.label
  }

  /// Takes over the label of a new lane.
  mutating func setLabel(_ label: UnsafeMutablePointer<CChar>) { word = ~Int(bitPattern: label) }

  /// Adds an extra part to a lane that has none.
  mutating func addExtra() -> UnsafeMutablePointer<LaneExtra> {
    let extra = UnsafeMutablePointer<LaneExtra>.allocate(capacity: 1)
    extra.initialize(to: LaneExtra())
    extra.pointee.settings.label = label
    word = Int(bitPattern: extra)
    return extra
  }

  /// Frees all of it.
  mutating func release() {
    label?.deallocate()
    if let extra {
      extra.deinitialize(count: 1)
      extra.deallocate()
    }
    word = 0
  }
}
