/// Numbers combined into one, mixed well enough to tell two combinations apart.
struct Mark {
  private(set) var bits: UInt64 = 0

  func adding(_ number: UInt64) -> Mark {
    // The multiplier of one of Knuth's linear congruential generators.
    let product = (bits ^ number) &* 6_364_136_223_846_793_005
    return Mark(bits: product ^ product >> 29)
  }
}
