/// Giving operations to a host whose language makes calls into it expensive.
extension HostExecutor {
  /// Runs a step that may submit work here, and then drains until an operation is given or the
  /// budget is used up. The waker is called for what is left, not for what came in between.
  package func take(_ budget: inout DrainBudget, after step: () -> Void) -> Status {
    let refusal = beginDrain(looks: true)
    if refusal != .ok { return refusal }
    step()
    runWaiting(&budget, looks: true)
    budget.dropSpareGate()
    if budget.isForkedChild { return .forked }
    endDrain()
    return .ok
  }
}
