import ConiferKeyValue
import ConiferStorage
import Foundation
import Synchronization

/// The storage of a client that is measured: also opened for the benchmark itself, and with the clock of the engine's
/// thread, on which it is opened.
final class ClientStorage: Sendable {
  private let state = Mutex<(backend: (any StorageBackend)?, clock: ThreadClock?)>((nil, nil))
  private let inner: StorageConfiguration

  init(_ inner: StorageConfiguration) { self.inner = inner }

  /// What the client is made with.
  var configuration: StorageConfiguration {
    StorageConfiguration(name: inner.name, location: inner.location, options: inner.options) {
      [self, inner] (options) throws(StoreError) in
      let backend = try inner.with(options).open()
      state.withLock { $0 = (backend, .ofThisThread) }
      return backend
    }
  }

  /// What the client has open; nil before.
  var backend: (any StorageBackend)? { state.withLock { $0.backend } }

  /// Seconds that the engine's thread has worked; nil before it opened the storage, and where the system does not tell.
  var engineTime: Double? { state.withLock { $0.clock }?.seconds }
}

/// The processor time of one thread.
struct ThreadClock: Sendable {
  private let clock: clockid_t

  /// The clock of the calling thread; nil where the system has none that others can read.
  static var ofThisThread: ThreadClock? {
    #if canImport(Glibc)
      var clock = clockid_t()
      return pthread_getcpuclockid(pthread_self(), &clock) == 0 ? ThreadClock(clock: clock) : nil
    #else
      return nil
    #endif
  }

  /// Seconds; nil when the thread has ended.
  var seconds: Double? {
    var time = timespec()
    guard clock_gettime(clock, &time) == 0 else { return nil }
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
