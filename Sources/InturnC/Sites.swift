import CInturn
import InturnCore

extension Site {
  /// The line that calls a function of the header.
  @inline(__always)
  init(_ site: UnsafeMutablePointer<inturn_site>?) {
    guard let site else {
      self = .unknown
      return
    }
    // By its address: another thread may be about to write it as well.
    let number = UnsafeMutableRawPointer(site) + 20
    let cache = number.assumingMemoryBound(to: UInt32.self)
    self = Site(in: cache) ?? Site(new: site, cache)
  }

  /// A call that may wait is over: its line is not to be taken for that of another one.
  @inline(__always)
  static func forgetWait() { ofWait = .unknown }

  /// The same, with what the call returns.
  @inline(__always)
  static func afterWait(_ status: Status) -> inturn_status {
    forgetWait()
    return inturn_status(status)
  }

  @inline(never)
  private init(new site: UnsafeMutablePointer<inturn_site>, _ cache: Cache) {
    guard let file = site.pointee.file else {
      self = .unknown
      return
    }
    self.init(file: file, site.pointee.function, line: site.pointee.line, cache: cache)
  }
}
