#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A value behind a lock that the thread sanitizer knows, which it does not know of `Mutex`.
final class Locked<Value>: @unchecked Sendable {
  // Safe to share: the lock protects the value.

  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private var value: Value

  init(_ value: Value) {
    self.value = value
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body(&value)
  }
}
