/// Which waits could never end, as a value: who holds which place, and what each wait needs.
///
/// A wait is *stuck* when something that it needs is held by operations that are stuck themselves: of
/// a queue that runs several at a time, all places. An operation is stuck when a wait in it is. All
/// waits are taken for stuck first, and those let go that can end, until none is left that can: what
/// remains waits for itself, round whatever way.
package struct TaskWaitSearch {
  /// An operation that keeps its place until the waits in it are over.
  package struct Holder: Hashable {
    var queue: Handle
    /// The address of something of its own, which tells it from others.
    var operation: UInt
  }

  /// What a wait cannot end without: the end of an operation, or one of a queue's places.
  package struct Need {
    var queue: Handle
    /// Nil for a place.
    var operation: UInt?
    /// Out of how many one is to be free.
    var places = 1

    /// The end of an operation that is `holder` as long as it runs.
    package static func end(of holder: Holder) -> Need {
      Need(queue: holder.queue, operation: holder.operation)
    }

    /// That one of so many operations, or of fewer, is over.
    package static func place(in queue: Handle, outOf places: Int = 1) -> Need {
      Need(queue: queue, places: max(1, places))
    }
  }

  struct Wait {
    var holders: [Holder]
    /// None of them may be stuck.
    var needs: [Need]
  }

  /// The first is that of who asks; the others are those that it may depend on.
  private let waits: [Wait]
  /// How many waits there are in each operation that are taken for stuck.
  private var waitsIn: [Holder: Int] = [:]
  /// How many operations of each queue are stuck.
  private var stuckIn: [Handle: Int] = [:]
  private var isStuck: [Bool]

  /// The queues from what is waited for round to who waits, if the first wait could never end.
  static func ring(of waits: [Wait]) -> [Handle]? {
    var search = TaskWaitSearch(waits)
    search.letGo()
    return search.isStuck[0] ? search.path() : nil
  }

  private init(_ waits: [Wait]) {
    self.waits = waits
    isStuck = Array(repeating: true, count: waits.count)
    for holder in waits.flatMap({ $0.holders }) {
      let count = waitsIn[holder, default: 0]
      if count == 0 { stuckIn[holder.queue, default: 0] += 1 }
      waitsIn[holder] = count + 1
    }
  }

  private func isHeld(_ need: Need) -> Bool {
    guard let operation = need.operation else {
      return stuckIn[need.queue, default: 0] >= need.places
    }
    return waitsIn[Holder(queue: need.queue, operation: operation), default: 0] > 0
  }

  /// Lets go of the waits that can end. Who has been let go of lets those go that need what he holds.
  private mutating func letGo() {
    var waitsFor: [Handle: [Int]] = [:]
    for (index, wait) in waits.enumerated() {
      for queue in Set(wait.needs.map { $0.queue }) { waitsFor[queue, default: []].append(index) }
    }
    var open = Array(waits.indices)
    while let index = open.popLast() {
      if !isStuck[index] || waits[index].needs.contains(where: isHeld) { continue }
      isStuck[index] = false
      for holder in waits[index].holders {
        waitsIn[holder]! -= 1
        if waitsIn[holder]! > 0 { continue }
        stuckIn[holder.queue]! -= 1
        open += waitsFor[holder.queue, default: []]
      }
    }
  }

  /// A way from the first wait back to it, among the stuck ones; each is looked at once. Where there
  /// is none, as others wait for each other already, just what the first one waits for.
  private func path() -> [Handle] {
    var inside: [Handle: [Int]] = [:]
    for index in waits.indices where isStuck[index] {
      for queue in Set(waits[index].holders.map { $0.queue }) {
        inside[queue, default: []].append(index)
      }
    }
    var from: [Int: (wait: Int, queue: Handle)] = [:]
    var open = [0]
    var next = 0
    while next < open.count {
      let index = open[next]
      next += 1
      for need in waits[index].needs where isHeld(need) {
        for other in inside[need.queue, default: []] where holds(waits[other], need) {
          if other == 0 {
            var queues = [need.queue]
            var step = index
            while step != 0, let before = from[step] {
              queues.append(before.queue)
              step = before.wait
            }
            return queues.reversed()
          }
          if from[other] == nil {
            from[other] = (index, need.queue)
            open.append(other)
          }
        }
      }
    }
    return waits[0].needs.map { $0.queue }
  }

  private func holds(_ wait: Wait, _ need: Need) -> Bool {
    wait.holders.contains {
      $0.queue == need.queue && (need.operation ?? $0.operation) == $0.operation
    }
  }
}

extension TaskWaitSearch.Holder {
  package init(_ operation: AnyObject, of queue: Handle) {
    self.queue = queue
    self.operation = UInt(bitPattern: Unmanaged.passUnretained(operation).toOpaque())
  }
}
