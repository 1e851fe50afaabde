#if canImport(Glibc)
  import Glibc

  /// How much memory the process has: the kernel's private dirty pages, which include everything.
  public struct Memory: Sendable {
    private let resident: Double

    public static var now: Memory { Memory(resident: dirtyBytes) }

    /// Prints what has been added since, per object for `count` objects.
    public func printGrowth(_ program: Program, count: Int) {
      let after = Memory.now
      program.print("resident_bytes", (after.resident - resident) / Double(count))
    }

    private static var dirtyBytes: Double {
      guard let file = fopen("/proc/self/smaps_rollup", "r") else { return 0 }
      defer { fclose(file) }
      var line = [CChar](repeating: 0, count: 256)
      while fgets(&line, 256, file) != nil {
        let text = line.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        if text.hasPrefix("Private_Dirty:") {
          let kilobytes = text.split(separator: " ")[1]
          return (Double(kilobytes) ?? 0) * 1024
        }
      }
      return 0
    }
  }
#endif
