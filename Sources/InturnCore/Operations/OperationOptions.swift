/// The options of an operation to be enqueued; see `inturn_operation_options`. What they point to
/// belongs to the caller and is valid until the call returns.
package struct OperationOptions {
  package var label: UnsafePointer<CChar>?
  package var maxWait: Int64 = 0
  package var maxRun: Int64 = 0
  package var freesPlaceAtMaxRun = false
  package var stall: Int64 = 0
  package var grace: Int64 = 0
  package var endCallback = EndCallback()
  /// The remaining options need more than a turn.
  package var priority: Int32 = 0
  package var isBarrier = false
  package var isUrgent = false
  /// Operations that have to end before this one starts.
  package var after = UnsafeBufferPointer<Handle>(start: nil, count: 0)
  /// Whether it ends cancelled if one of those ends otherwise than finished.
  package var needsFinished = false
  /// Of the operations that share a name, one runs at a time.
  package var names = UnsafeBufferPointer<UnsafePointer<CChar>>(start: nil, count: 0)
  package var condition: RawCondition?
  package var retry: RetryPolicy?
  /// The key by which it can be found and joined.
  package var key: UnsafePointer<CChar>?
  package var joins = false
  package var owner: Owner?

  package init() {}

  static func withPointer<Result>(
    to options: OperationOptions?, _ body: (UnsafePointer<OperationOptions>?) -> Result
  ) -> Result {
    guard let options else { return body(nil) }
    return withUnsafePointer(to: options, body)
  }
}

/// The options that the short way in knows, besides the work.
package struct LeanOptions {
  package var priority: Int32 = 0
  /// Operations that have to end before this one starts.
  package var after = UnsafeBufferPointer<Handle>(start: nil, count: 0)
  /// Whether it ends cancelled if one of those ends otherwise than finished.
  package var needsFinished = false

  package init() {}
}
