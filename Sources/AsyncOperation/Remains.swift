import Foundation

/// The dependencies of a deallocated operation, which are released one after the other.
///
/// Each operation retains its dependencies, so releasing the last operation of a chain would
/// release all of them, nested, until the stack is used up. This class avoids that: the first
/// `Remains` on a thread releases what the later ones contain.
final class Remains {
  /// The operations to be released on a thread.
  private final class Pile {
    var operations: [Operation] = []
  }

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  private var operations: [Operation]

  init(_ operations: [Operation]) { self.operations = operations }

  deinit {
    if let address = pthread_getspecific(Self.key) {
      Unmanaged<Pile>.fromOpaque(address).takeUnretainedValue().operations += operations
      return
    }
    let pile = Pile()
    swap(&pile.operations, &operations)
    pthread_setspecific(Self.key, Unmanaged.passUnretained(pile).toOpaque())
    while pile.operations.popLast() != nil {}
    pthread_setspecific(Self.key, nil)
  }
}
