/// Finds waits that could never end, as a value: who holds which places, and what each wait needs.
///
/// A wait is *stuck* if something that it needs is held by stuck operations: if the queue runs several
/// at a time, all of its places. An operation is stuck if a wait in it is. So to `StuckWaits` an
/// operation is a wait, too, which each wait inside it keeps.
package struct TaskWaitSearch {
  /// An operation that keeps its place until the waits inside it are over.
  package struct Holder: Hashable {
    var queue: Handle
    /// The address of an object of its own, which identifies it.
    var operation: UInt
  }

  /// What a wait needs in order to end: the end of an operation, or one of a queue's places.
  package struct Need: Hashable {
    var queue: Handle
    /// Nil for a place.
    var operation: UInt?
    /// One of this many places has to be free.
    var places = 1

    /// The end of an operation that is `holder` while it runs.
    package static func end(of holder: Holder) -> Need {
      Need(queue: holder.queue, operation: holder.operation)
    }

    /// One of the queue's `places`, or of fewer, is free.
    package static func place(in queue: Handle, outOf places: Int = 1) -> Need {
      Need(queue: queue, places: max(1, places))
    }
  }

  struct Wait {
    var holders: [Holder]
    /// The wait is stuck if any of these is.
    var needs: [Need]
  }

  /// The first is the caller's; the others are those that it may depend on.
  private let waits: [Wait]
  private var isStuck: [Bool] = []
  /// Each operation's number in `StuckWaits`, and the numbers of each queue's operations.
  private var numbers: [Holder: Int] = [:]
  private var numbersIn: [Handle: [Int]] = [:]
  /// For each operation, by its number less the number of waits, the waits inside it.
  private var waitsIn: [[Int]] = []

  /// The queues from what is waited for round to the waiter, if the first wait could never end.
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

  /// The operations that hold what is needed.
  private func holders(of need: Need) -> [Int] {
    guard let operation = need.operation else { return numbersIn[need.queue] ?? [] }
    return numbers[Holder(queue: need.queue, operation: operation)].map { [$0] } ?? []
  }

  /// A path from the first wait back to it through stuck ones, each of which is looked at once. If
  /// there is none, as the others form a ring without it, only what the first wait needs.
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
