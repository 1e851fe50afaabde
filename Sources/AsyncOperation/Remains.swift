import Foundation

/// The dependencies of an operation that is gone, which are let go of one after the other.
///
/// Each operation holds those that it depends on, so that letting go of the last one of a chain
/// lets go of all of them, one inside the other, until the stack is used up. This takes them out of
/// one another: the first one on a thread lets go of what the later ones bring.
final class Remains {
  /// Those that wait on a thread.
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
