/// Which waits could never end, as a value: who holds which place, and what each wait needs.
///
/// A wait is *stuck* when something that it needs is held by operations that are stuck themselves: of
/// a queue that runs several at a time, all places. An operation is stuck when a wait in it is. So an
/// operation is a wait, too, to `StuckWaits`: each one in it keeps it.
package struct TaskWaitSearch {
  /// An operation that keeps its place until the waits in it are over.
  package struct Holder: Hashable {
    var queue: Handle
    /// The address of something of its own, which tells it from others.
    var operation: UInt
  }

  /// What a wait cannot end without: the end of an operation, or one of a queue's places.
  package struct Need: Hashable {
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
  private var isStuck: [Bool] = []
  /// Each operation's number to `StuckWaits`, and those of each queue's.
  private var numbers: [Holder: Int] = [:]
  private var numbersIn: [Handle: [Int]] = [:]
  /// Of each operation, by its number after the waits', the waits in it.
  private var waitsIn: [[Int]] = []

  /// The queues from what is waited for round to who waits, if the first wait could never end.
  static func ring(of waits: [Wait]) -> [Handle]? {
    var search = TaskWaitSearch(waits: waits)
    search.solve()
    return search.isStuck[0] ? search.path() : nil
  }

  private init(waits: [Wait]) {
    self.waits = waits
    for (index, wait) in waits.enumerated() {
      for holder in wait.holders {
        if numbers[holder] == nil {
          numbers[holder] = waits.count + waitsIn.count
          numbersIn[holder.queue, default: []].append(waits.count + waitsIn.count)
          waitsIn.append([])
        }
        waitsIn[numbers[holder].unsafelyUnwrapped - waits.count].append(index)
      }
    }
  }

  private mutating func solve() {
    var stuck = StuckWaits(waits: waits.count + waitsIn.count)
    func add(_ places: Int, _ holders: [Int]) -> Int? {
      stuck.add(places: UInt64(places), holders: holders.map { .init(wait: $0, places: 1) })
    }
    for (number, inside) in waitsIn.enumerated() {
      for wait in inside { stuck.keep(waits.count + number, by: add(1, [wait]).unsafelyUnwrapped) }
    }
    var hindrances: [Need: Int?] = [:]
    for (index, wait) in waits.enumerated() {
      for need in Set(wait.needs) {
        let known = hindrances[need] ?? add(need.places, holders(of: need))
        hindrances[need] = .some(known)
        if let known { stuck.keep(index, by: known) }
      }
    }
    isStuck = stuck.solve()
  }

  /// The operations that what is needed may wait for.
  private func holders(of need: Need) -> [Int] {
    guard let operation = need.operation else { return numbersIn[need.queue] ?? [] }
    return numbers[Holder(queue: need.queue, operation: operation)].map { [$0] } ?? []
  }

  /// A way from the first wait back to it, among the stuck ones; each is looked at once. Where there
  /// is none, as others wait for each other already, just what the first one waits for.
  private func path() -> [Handle] {
    var from: [Int: (wait: Int, queue: Handle)] = [:]
    var open = [0]
    var next = 0
    while next < open.count {
      let index = open[next]
      next += 1
      for need in waits[index].needs {
        let stuck = holders(of: need).filter { isStuck[$0] }
        if stuck.count < need.places { continue }
        for other in stuck.flatMap({ waitsIn[$0 - waits.count] }) where isStuck[other] {
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
}

extension TaskWaitSearch.Holder {
  package init(_ operation: AnyObject, of queue: Handle) {
    self.queue = queue
    self.operation = UInt(bitPattern: Unmanaged.passUnretained(operation).toOpaque())
  }
}
