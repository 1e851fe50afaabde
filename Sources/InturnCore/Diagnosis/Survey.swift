import CInturnSystem

/// What the watchdog sees: since when each lane is stalled, and what to report.
struct Survey: ~Copyable {
  /// A stall to report, and the lanes that it stalls.
  private struct Finding {
    var stall: Stall
    var stands: [Stand.Pointer]
  }

  private var stands = StandTable()
  private var episodes = Episodes()
  private var findings: [Finding] = []

  /// The most work for one look; the rest is left to the next ones.
  private static var mostToExplain: Int { 256 }
  private static var mostToTell: Int { 16 }

  /// Looks at each lane, and at waits that no lane tells of, with the process's limit. False if there
  /// is nothing that could stand still.
  mutating func look(at now: Int64, limit: Int64) -> Bool {
    var isBusy = lookAtWaits(at: now, limit: limit)
    var left = Self.mostToExplain
    let engine = Engine.current
    for index in engine.pointee.lanes.givenOut {
      guard let lane = engine.pointee.lanes.pointer(at: index) else { continue }
      let progress = lane.progress()
      if progress != nil { isBusy = true }
      guard let stand = progress == nil ? stands.existing(index) : stands.make(index) else {
        continue
      }
      let wasBusy = stand.pointee.progress != nil
      let isUnchanged = stand.pointee.isUnchanged(progress, at: now)
      guard let progress, case let limit = progress.limit.or(limit), limit != .max else { continue }
      if !isUnchanged {
        // A lane that is seen for the first time may stand still: the next look says so.
        if wasBusy { lookForAwaited(in: lane, stand, at: now, limit: limit, &left) }
        continue
      }
      guard now >= stand.pointee.nextLook,
        now - max(stand.pointee.since, stands.resumedAt) >= limit, left > 0
      else { continue }
      left -= 1
      stand.pointee.nextLook = now + limit / 4
      explain(lane, nil, stand, at: now, limit: limit)
      // Others may stand still for causes of their own.
      explainAwaited(in: lane, stand, at: now, since: now - limit, limit: limit, &left)
    }
    return isBusy
  }

  private mutating func lookAtWaits(at now: Int64, limit: Int64) -> Bool {
    if limit == .max { return false }
    var isBusy = false
    var number: UInt64 = 0
    while let wait = WaitGraph.next(after: number) {
      number = wait.number
      guard let (value, what) = wait.awaitedValue else { continue }
      isBusy = true
      if wait.seenAt == 0 { wait.seenAt = now }
      let time = now - max(wait.seenAt, stands.resumedAt)
      if time < limit || findings.count >= Self.mostToTell || !Engine.hasMemory { continue }
      if value.queue(for: what) != nil { continue }
      add(Stall(wait, forObserversOf: value, nanoseconds: time), of: nil, at: now)
    }
    return isBusy
  }

  /// In a lane that moves, what somebody waits for may stand still, or only take longer than the rest.
  private mutating func lookForAwaited(
    in lane: Lane.Pointer, _ stand: Stand.Pointer, at now: Int64, limit: Int64, _ left: inout Int
  ) {
    let limit = limit * StallLimit.patience
    explainAwaited(
      in: lane, stand, at: now, since: now - limit * stand.pointee.tolerance, limit: limit, &left)
    // When the lane itself is asked is another matter.
    stand.pointee.nextLook = 0
  }

  private mutating func explainAwaited(
    in lane: Lane.Pointer, _ stand: Stand.Pointer, at now: Int64, since moment: Int64,
    limit: Int64, _ left: inout Int
  ) {
    for slot in lane.awaited(since: moment) {
      if left > 0 { explain(lane, slot, stand, at: now, limit: limit) }
      left -= 1
      slot.dropReference()
    }
  }

  /// The process was stopped, as by Ctrl-Z or a debugger, and goes on: everything has its time anew.
  mutating func goesOn(at now: Int64) { stands.resumedAt = now }

  @inline(never)
  private mutating func explain(
    _ lane: Lane.Pointer, _ operation: OperationSlot.Pointer?, _ stand: Stand.Pointer,
    at now: Int64, limit: Int64
  ) {
    guard findings.count < Self.mostToTell, Engine.hasMemory,
      let stall = Stall(lane, operation, at: now, limit: limit, stands)
    else { return }
    let times = stand.pointee.tolerance * (stall.isPatient ? StallLimit.patience : 1)
    if stall.nanoseconds / times < max(limit, stall.limitOfCause.or(0)) { return }
    add(stall, of: stand, at: now)
  }

  private mutating func add(_ stall: Stall, of stand: Stand.Pointer?, at now: Int64) {
    if let due = episodes.nextTelling(of: stall.key), due > now {
      stand?.pointee.nextLook = due
    } else if let place = findings.firstIndex(where: { $0.stall.key == stall.key }) {
      if let stand, findings[place].stands.contains(stand) { return }
      findings[place].stall.add(stall)
      if let stand { findings[place].stands.append(stand) }
    } else {
      findings.append(Finding(stall: stall, stands: stand.map { [$0] } ?? []))
    }
  }

  /// Looks where the tokens are that keep something: only who has a copy can finish the operation.
  /// Before the first report of it, as who is told one may have a copy from then on.
  private mutating func searchTokens() {
    inturn_system_seek_none()
    for finding in findings
    where finding.stall.isKeptByToken && episodes.nextTelling(of: finding.stall.key) == nil {
      inturn_system_seek(finding.stall.last.invertedToken)
    }
    inturn_system_search { WorkerPool.isParker($0) }
  }

  /// Reports the findings. Returns how long that took. No lock is held.
  mutating func tell() -> Int64 {
    if findings.isEmpty { return 0 }
    let begin = inturn_system_now()
    let process = ProcessState.current
    searchTokens()
    for place in findings.indices where ProcessState.current == process {
      var finding = findings[place]
      guard episodes.tells(of: finding.stall.key, at: inturn_system_now()) else {
        if episodes.isFirstLeftOut() { Report.sayThatMoreIsStuck() }
        continue
      }
      for stand in finding.stands { stand.pointee.isTold = true }
      finding.stall.copyOfToken = inturn_system_found(finding.stall.last.invertedToken)
      var report = finding.stall.report
      if episodes.isFull && place + 1 < findings.count { report.addThatMoreIsStuck() }
      report.send()
    }
    findings.removeAll()
    return inturn_system_now() - begin
  }
}
