import InturnCore

extension ObservedState {
  /// The state of one of the engine's operations, as converted by `convert`; `other` when the
  /// engine does not know the operation.
  package convenience init(
    of operation: Handle, otherwise other: T,
    _ convert: @escaping @Sendable (InturnCore.OperationState) -> T
  ) {
    self.init(other, aspect: OperationAspect.state.rawValue) { state in
      guard case .integer(let number) = state,
        let state = InturnCore.OperationState(rawValue: Int32(truncatingIfNeeded: number))
      else { return other }
      return convert(state)
    } follow: {
      Engine.follow($0, operation: operation)
    }
  }

  /// The progress of one of the engine's operations; in the same way.
  package convenience init(
    progressOf operation: Handle, otherwise other: T,
    _ convert: @escaping @Sendable (InturnCore.Progress) -> T
  ) {
    self.init(other, aspect: OperationAspect.progress.rawValue) { state in
      guard case .progress(let progress) = state else { return other }
      return convert(progress)
    } follow: {
      Engine.follow($0, operation: operation)
    }
  }
}
