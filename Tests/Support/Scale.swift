import Foundation

/// How much a long test does: `INTURN_TEST_SCALE`, which is 1 by default. The sanitizers make
/// everything slower.
package func scaled(_ count: Int) -> Int {
  let scale = ProcessInfo.processInfo.environment["INTURN_TEST_SCALE"].flatMap(Double.init) ?? 1
  return max(1, Int(Double(count) * scale))
}
