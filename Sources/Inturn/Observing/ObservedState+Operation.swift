import InturnCore

extension ObservedState {
  /// The state of an operation of the engine's, as `convert` has it; `other` when the engine does not
  /// know the operation.
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

  /// How far an operation of the engine's has come. The same otherwise.
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
