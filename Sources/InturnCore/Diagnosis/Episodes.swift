/// Decides when a stall is reported, as a value: at once, after ten seconds, after a minute, and then
/// every ten minutes; and at most `mostInMinute` reports a minute for all stalls together.
struct Episodes {
  private struct Episode {
    let key: UInt64
    let begin: Int64
    var told = 0
    var next: Int64
  }

  private var episodes: [Episode] = []
  private var minuteBegin = Int64.min
  private var toldInMinute = 0

  static var second: Int64 { 1_000_000_000 }
  static var mostInMinute: Int { 10 }
  private static var most: Int { 256 }

  /// When a stall that was reported is due again; nil for a new one.
  func nextTelling(of key: UInt64) -> Int64? { episodes.first { $0.key == key }?.next }

  /// Whether the stall is reported now. If so, this counts as its report.
  mutating func tells(of key: UInt64, at now: Int64) -> Bool {
    if minuteBegin == Int64.min || now - minuteBegin >= 60 * Self.second {
      (minuteBegin, toldInMinute) = (now, 0)
    }
    if toldInMinute >= Self.mostInMinute { return false }
    toldInMinute += 1
    let place = episodes.firstIndex { $0.key == key } ?? add(key, at: now)
    episodes[place].told += 1
    episodes[place].next =
      switch episodes[place].told {
      case 1: now + 10 * Self.second
      case 2: max(now, episodes[place].begin + 60 * Self.second)
      default: now + 600 * Self.second
      }
    return true
  }

  /// Whether no more is reported in this minute.
  var isFull: Bool { toldInMinute >= Self.mostInMinute }

  /// Whether this is the first one of a minute that is not reported. It counts as reported then.
  mutating func isFirstLeftOut() -> Bool {
    if toldInMinute > Self.mostInMinute { return false }
    toldInMinute += 1
    return true
  }

  private mutating func add(_ key: UInt64, at now: Int64) -> Int {
    // Episodes that were due again, and were not reported, are over.
    if episodes.count == Self.most { episodes.removeAll { $0.next < now - 60 * Self.second } }
    if episodes.count == Self.most { episodes.removeFirst() }
    episodes.append(Episode(key: key, begin: now, next: now))
    return episodes.count - 1
  }
}
