import ConcurrentKVO
import Harness
import Synchronization

struct Measurements {
  let program: Program
  private var count: Int { program[1] }

  func run() {
    switch program[0] {
    case 0: read()
    case 1: readText()
    case 2: set()
    case 3: readShared()
    case 4: setObserved()
    default: program.require(false, "there is such a measurement")
    }
  }

  /// Prints the nanoseconds for one of `count` repetitions.
  private func print(_ metric: String, _ body: () -> Void) {
    let clock = ContinuousClock()
    body()
    let times = (0..<5).map { _ in
      let (seconds, attoseconds) = clock.measure(body).components
      return Double(seconds) * 1e9 + Double(attoseconds) / 1e9
    }
    program.print(metric, times.sorted()[2] / Double(count))
  }

  // MARK: Reading

  private func read() {
    switch program.peer {
    case "inturn": read(InturnValue(1))
    case "inturn_rw_locked": read(LockedInturnValue(1))
    case "mutex": read(MutexValue(1))
    case "atomic": read(AtomicValue(1))
    default: program.unknownPeer()
    }
  }

  @inline(never)
  private func read<Shared: SharedValue<Int>>(_ value: Shared) {
    print("ns_per_read") {
      var sum = 0
      for _ in 0..<count { sum &+= value.get() }
      program.require(sum == count, "each read gave the value")
    }
  }

  private func readText() {
    let text = "a text that is too long to be kept in place"
    switch program.peer {
    case "inturn": readText(InturnValue(text))
    case "inturn_rw_locked": readText(LockedInturnValue(text))
    case "mutex": readText(MutexValue(text))
    default: program.unknownPeer()
    }
  }

  private func readText(_ value: some SharedValue<String>) {
    print("ns_per_read") {
      var sum = 0
      for _ in 0..<count { sum &+= value.get().utf8.count }
      program.require(sum == 43 * count, "each read gave the value")
    }
  }

  // MARK: Changing

  private func set() {
    switch program.peer {
    case "inturn": set(InturnValue(1))
    case "inturn_rw_locked": set(LockedInturnValue(1))
    case "mutex": set(MutexValue(1))
    default: program.unknownPeer()
    }
  }

  private func set(_ value: some SharedValue<Int>) {
    print("ns_per_set") {
      for number in 0..<count { value.set(number) }
    }
    program.require(value.get() == count - 1, "the last one stays")
  }

  // MARK: Eight readers and a writer

  private func readShared() {
    switch program.peer {
    case "inturn": readShared(InturnValue(1))
    case "inturn_rw_locked": readShared(LockedInturnValue(1))
    case "dispatch_rw_lock": readShared(DispatchValue(1))
    default: program.unknownPeer()
    }
  }

  /// Eight threads read, this many times in all, while one changes the value again and again, with a
  /// microsecond between, so that it does not flood a peer that does not make it wait.
  private func readShared(_ value: some SharedValue<Int>) {
    let each = count / 8
    let program = program
    print("ns_per_read") {
      let isOver = Flag()
      let readers = Threads(8) {
        var last = 0
        for _ in 0..<each {
          let read = value.get()
          program.require(read >= last, "no read is older than the last")
          last = read
        }
      }
      let writer = Threads(1) {
        let clock = ContinuousClock()
        var number = value.get()
        while !isOver.isRaised {
          number += 1
          value.set(number)
          let until = clock.now + .microseconds(1)
          while clock.now < until {}
        }
      }
      readers.join()
      isOver.raise()
      writer.join()
    }
  }

  // MARK: Being observed

  /// The peers change a value that nobody observes, and call the function themselves, once or twice.
  private func setObserved() {
    let told = Told()
    let value = ConcurrentKVO(0)
    var calls = 1
    switch program.peer {
    case "inturn":
      let observation = value.observe { told.add($0.new &- $0.old!) }
      print("ns_per_set") {
        for number in 0..<count { value.value = number }
      }
      observation.cancel()
    case "by_hand":
      print("ns_per_set") {
        for number in 0..<count { told.add(number &- value.exchange(number)) }
      }
    case "by_hand_twice":
      calls = 2
      print("ns_per_set") {
        for number in 0..<count {
          told.add(number &- value.exchange(number))
          told.add(0)
        }
      }
    default: program.unknownPeer()
    }
    program.require(told.total.count == 6 * count * calls, "each change was told")
    program.require(told.total.sum == count - 1, "the changes add up")
  }
}

/// The observer's work: it adds up the changes, for other threads to see.
final class Told: Sendable {
  private let stored = Mutex((count: 0, sum: 0))

  var total: (count: Int, sum: Int) { stored.withLock { $0 } }

  @inline(never)
  func add(_ difference: Int) {
    stored.withLock {
      $0.count += 1
      $0.sum &+= difference
    }
  }
}
