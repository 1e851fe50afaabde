/// Numbers made one, as well mixed as is needed to tell two of them apart.
struct Mark {
  private(set) var bits: UInt64 = 0

  func adding(_ number: UInt64) -> Mark {
    // The multiplier is that of a linear congruential generator of Knuth's.
    let product = (bits ^ number) &* 6_364_136_223_846_793_005
    return Mark(bits: product ^ product >> 29)
  }
}
