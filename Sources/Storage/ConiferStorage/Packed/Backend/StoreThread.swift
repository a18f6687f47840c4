import ConiferKeyValue

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The one thread that calls a store: C engines block, and a transaction of LMDB stays on a thread.
///
/// Work is queued under a lock and drained whole, so that commits which meet share one flush.
final class StoreThread<Work: Sendable>: @unchecked Sendable {
  // Unchecked: the queue is touched under the mutex only; mutex and condition live in fixed memory.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  private var queue: [Work] = []
  private var isEnding = false
  private let drain: @Sendable ([Work]) -> Void

  /// A thread that hands whatever was queued meanwhile to a closure, batch after batch.
  ///
  /// - Throws: `io` when the system gives no thread.
  init(_ drain: @escaping @Sendable ([Work]) -> Void) throws(StoreError) {
    self.drain = drain
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    condition = .allocate(capacity: 1)
    condition.initialize(to: pthread_cond_t())
    pthread_cond_init(condition, nil)
    // The thread owns itself until `end()`: the box is released when the loop returns.
    let box = Unmanaged.passRetained(self)
    #if canImport(Darwin)
      var thread: pthread_t?
    #else
      var thread = pthread_t()
    #endif
    let code = pthread_create(&thread, nil, storeThreadMain, box.toOpaque())
    guard code == 0 else {
      box.release()
      throw Platform.error(code, "start a thread for", "a store")
    }
    #if canImport(Darwin)
      if let thread { pthread_detach(thread) }
    #else
      pthread_detach(thread)
    #endif
  }

  deinit {
    pthread_cond_destroy(condition)
    condition.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Queues work; false when the thread has ended.
  func submit(_ work: Work) -> Bool {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    guard !isEnding else { return false }
    queue.append(work)
    pthread_cond_signal(condition)
    return true
  }

  /// Ends the thread after the work that was queued so far.
  func end() {
    pthread_mutex_lock(mutex)
    isEnding = true
    pthread_cond_signal(condition)
    pthread_mutex_unlock(mutex)
  }

  fileprivate func run() {
    while true {
      pthread_mutex_lock(mutex)
      while queue.isEmpty, !isEnding { pthread_cond_wait(condition, mutex) }
      let batch = queue
      queue = []
      pthread_mutex_unlock(mutex)
      if batch.isEmpty { return }
      drain(batch)
    }
  }
}

/// What the generic thread shows to the C entry point.
private protocol Runnable: AnyObject {
  func runLoop()
}

extension StoreThread: Runnable {
  fileprivate func runLoop() { run() }
}

#if canImport(Darwin)
  private func storeThreadMain(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    enter(argument)
    return nil
  }
#else
  private func storeThreadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let argument { enter(argument) }
    return nil
  }
#endif

private func enter(_ argument: UnsafeMutableRawPointer) {
  let object = Unmanaged<AnyObject>.fromOpaque(argument).takeRetainedValue()
  (object as? any Runnable)?.runLoop()
}
