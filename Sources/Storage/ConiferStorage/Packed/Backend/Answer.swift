import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A value that one thread gives and another waits for, outside of async code.
final class Answer<Value: Sendable>: @unchecked Sendable {
  // Unchecked: the value is touched under the mutex only.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  private var value: Value?

  init() {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    condition = .allocate(capacity: 1)
    condition.initialize(to: pthread_cond_t())
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    condition.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  func give(_ value: Value) {
    pthread_mutex_lock(mutex)
    self.value = value
    pthread_cond_signal(condition)
    pthread_mutex_unlock(mutex)
  }

  func wait() -> Value {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while true {
      if let value { return value }
      pthread_cond_wait(condition, mutex)
    }
  }
}
