/// Giving operations to a host whose language makes a call into it dear.
extension HostExecutor {
  /// Does something that may make work wait here, and then drains until an operation is given or
  /// the budget is over. The host is told of what is left, not of what came in between.
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
