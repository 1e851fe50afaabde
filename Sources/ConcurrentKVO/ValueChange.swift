/// What an observer is told.
///
/// The changes that an observer is told of are a trail: each one's old value is the new value of
/// the one before, none is missing and none comes twice.
@frozen
public struct ValueChange<T> {
  /// When an observer is told.
  public enum Kind: Sendable {
    /// The value has been changed.
    case change
    /// What the value was when the observation began. There is no old value.
    case initial
    /// Before any observer is told of the change.
    case prior
  }

  /// When the observer is told.
  public let kind: Kind
  /// The changes of a value are numbered from 1. An initial value has the number of the change
  /// that made it, or 0. Changes that were joined have the number of the last of them.
  public let number: UInt64
  /// The value before the change; nil when there is none, as with an initial value.
  public let old: T?
  /// The value after the change; as it is, for an initial value.
  public let new: T

  @inlinable
  init(kind: Kind, number: UInt64, old: T?, new: T) {
    self.kind = kind
    self.number = number
    self.old = old
    self.new = new
  }
}

extension ValueChange: Sendable where T: Sendable {}
extension ValueChange: Equatable where T: Equatable {}
