import InturnCore

/// A change that an observer is told.
///
/// The changes that an observer is told have no gaps: the old value of each is the new value of the
/// one before, none is missing, and none is told twice.
@frozen
public struct ValueChange<T> {
  /// The changes of a value are numbered from 1. An initial value has the number of the change
  /// that made it, or 0. Changes that were joined have the number of the last of them.
  public let number: UInt64
  /// The value before the change; nil for the value that the observation begins with: see
  /// ``ObservationOptions/initial``.
  public let old: T?
  /// The value after the change.
  public let new: T
  /// Whether the other observers have not been told yet: see ``ObservationOptions/prior``.
  public let isPrior: Bool

  @inlinable
  package init(_ entry: TrailEntry<T>) {
    number = entry.number
    old = entry.old
    new = entry.new
    isPrior = entry.kind == .prior
  }
}

extension ValueChange: Sendable where T: Sendable {}
extension ValueChange: Equatable where T: Equatable {}
