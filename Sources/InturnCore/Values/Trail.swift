import Synchronization

/// A value that many threads read and change, and the true account of its changes.
///
/// Each change has a number, and each observer is told of each change after its own begin, in the
/// order of the numbers: each old value is the new value of the change before. No observer is
/// called under the lock. A change returns when its observers have been told, unless another
/// thread is telling them of earlier ones, or the caller is inside one of them: then whoever
/// delivers just now tells them of this one, too. So no change ever waits for another thread.
///
/// This is what an object with a value of its own embeds. `stage` changes the value under the
/// owner's lock, and `deliver` tells of it afterwards.
@usableFromInline
package final class Trail<Value>: TrailBase, @unchecked Sendable {
  // Safe to share: `lock` protects `stored` and `machine`; what else changes is atomic. Owners see
  // to it that values that are not Sendable stay with one thread.

  /// The bits of a value that is more than one word and at most sixteen; see `ValueBits`.
  @usableFromInline let words: UnsafeMutablePointer<Atomic<UInt64>>?
  @exclusivity(unchecked) @usableFromInline var machine = TrailMachine<Value>()
  @exclusivity(unchecked) @usableFromInline var stored: Value

  @usableFromInline
  package init(_ value: Value, label: String? = nil) {
    stored = value
    words = ValueBits<Value>.areWords ? ValueBits<Value>.makeWords(value) : nil
    super.init(word: ValueBits<Value>.areWord ? ValueBits<Value>.word(value) : 0, label: label)
  }

  deinit {
    // Nobody else knows the trail any more, so nobody delivers.
    for place in machine.places where !place.isGone { release(place) }
    words?.deallocate()
  }
}
