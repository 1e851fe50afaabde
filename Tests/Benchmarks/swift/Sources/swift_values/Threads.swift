import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Threads that run the same function.
struct Threads {
  private var ids: [pthread_t] = []

  init(_ count: Int, _ body: @escaping @Sendable () -> Void) {
    for _ in 0..<count {
      let box = Unmanaged.passRetained(Box(body))
      #if canImport(Darwin)
        var id: pthread_t?
        pthread_create(
          &id, nil,
          {
            Box.run($0); return nil
          }, box.toOpaque())
        ids.append(id!)
      #else
        var id = pthread_t()
        pthread_create(
          &id, nil,
          {
            Box.run($0!); return nil
          }, box.toOpaque())
        ids.append(id)
      #endif
    }
  }

  func join() {
    for id in ids { pthread_join(id, nil) }
  }

  private final class Box {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    static func run(_ context: UnsafeMutableRawPointer) {
      Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body()
    }
  }
}

/// Raised once.
final class Flag: Sendable {
  private let word = Atomic<Bool>(false)
  var isRaised: Bool { word.load(ordering: .relaxed) }
  func raise() { word.store(true, ordering: .relaxed) }
}
