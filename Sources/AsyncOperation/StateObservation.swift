/// An observing of an operation's state, which ends when this is cancelled or let go of.
public final class StateObservation: Sendable {
  private let observer: StateObserver
  private let storage: OperationStorage

  init(_ observer: StateObserver, of storage: OperationStorage) {
    self.observer = observer
    self.storage = storage
  }

  deinit { cancel() }

  /// Ends the observing: no call begins after this, though one may be under way. May be repeated.
  public func cancel() {
    observer.stop()
    storage.remove(observer)
  }
}
