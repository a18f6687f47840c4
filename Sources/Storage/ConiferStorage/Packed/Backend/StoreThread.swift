package import ConiferKeyValue

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Does work for a store, one batch at a time: on its own thread, so that blocking calls do not
/// block tasks, or on the thread of a caller that waits anyway.
///
/// `submit` and `perform` may be called from any thread. No two threads drain at once, and each batch is
/// drained by one thread from beginning to end, as LMDB's write transactions need. Work is queued under a lock
/// and drained whole, so that commits which wait together share one flush.
package final class StoreThread<Work: Sendable>: Sendable {
  private struct Queue {
    var works: [Work] = []
    var isEnding = false
    /// The thread that drains: the store's own, or that of a caller of `perform`; nil while none does.
    var worker: UInt?
    /// Whether the last drain left something to do while no work waits, such as a slice of eviction.
    var hasIdleWork = false
  }

  private let queue: Monitor<Queue>
  private let drain: @Sendable ([Work], _ isAwaited: () -> Bool) -> Bool

  /// A thread that passes the queued work to a closure, batch after batch.
  ///
  /// - Parameters:
  ///   - hasIdleWork: whether there is something to do before any work is queued.
  ///   - drain: does work, and may ask whether more was queued meanwhile. It returns whether
  ///     something is left to do while no work waits; then it is called again, with an empty batch
  ///     if nothing was queued.
  /// - Throws: `io` when the system has no thread left.
  package init(
    hasIdleWork: Bool = false,
    _ drain: @escaping @Sendable ([Work], _ isAwaited: () -> Bool) -> Bool
  ) throws(StoreError) {
    queue = Monitor(Queue(hasIdleWork: hasIdleWork))
    self.drain = drain
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

  /// Queues work; false when the thread has ended.
  package func submit(_ work: Work) -> Bool {
    queue.change { queue in
      guard !queue.isEnding else { return false }
      queue.works.append(work)
      return true
    }
  }

  /// Whether the calling thread is doing this work now, so that waiting for more of it would never
  /// end.
  package var isWorking: Bool {
    let caller = Platform.thread
    return caller != 0 && queue.withValue { $0.worker == caller }
  }

  /// Does work at once on the calling thread when the thread is idle and nothing is left to do,
  /// which saves two thread switches; otherwise queues it. False when the thread has ended.
  package func perform(_ work: Work) -> Bool {
    let caller = Platform.thread
    let isMine = queue.withValue { queue -> Bool? in
      guard !queue.isEnding else { return nil }
      guard queue.worker == nil, queue.works.isEmpty, !queue.hasIdleWork else { return false }
      queue.worker = caller
      return true
    }
    guard let isMine else { return false }
    guard isMine else { return submit(work) }
    let hasIdleWork = drain([work]) { isAwaited }
    let wakesThread = queue.withValue { queue in
      queue.worker = nil
      queue.hasIdleWork = hasIdleWork
      return hasIdleWork || queue.isEnding || !queue.works.isEmpty
    }
    if wakesThread { queue.change { _ in } }
    return true
  }

  /// Whether work waits that was queued since the last was taken.
  private var isAwaited: Bool { queue.withValue { !$0.works.isEmpty } }

  /// Ends the thread after the work that was queued so far.
  package func end() {
    queue.change { $0.isEnding = true }
  }
}

/// The part of the generic thread that the C entry point can call.
private protocol Runnable: AnyObject {
  func run()
}

extension StoreThread: Runnable {
  fileprivate func run() {
    let own = Platform.thread
    while true {
      let (works, isEnding) = queue.wait { queue in
        guard queue.worker == nil, !queue.works.isEmpty || queue.isEnding || queue.hasIdleWork
        else {
          return nil as (works: [Work], isEnding: Bool)?
        }
        queue.worker = own
        defer { queue.works = [] }
        return (queue.works, queue.isEnding)
      }
      if works.isEmpty, isEnding { return }
      let hasIdleWork = drain(works) { isAwaited }
      queue.withValue { queue in
        queue.worker = nil
        queue.hasIdleWork = hasIdleWork
      }
    }
  }
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
  (object as? any Runnable)?.run()
}

/// A value under a lock on which threads may wait for a change; for threads, not for async code.
package final class Monitor<Value: Sendable>: @unchecked Sendable {
  // Unchecked: the value is touched under the mutex only; mutex and condition live in fixed memory.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  private var value: Value

  package init(_ value: Value) {
    self.value = value
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

  /// Changes the value and wakes one waiting thread.
  package func change<R>(_ body: (inout Value) -> R) -> R {
    pthread_mutex_lock(mutex)
    defer {
      pthread_cond_signal(condition)
      pthread_mutex_unlock(mutex)
    }
    return body(&value)
  }

  /// Accesses the value without waking a waiting thread.
  package func withValue<R>(_ body: (inout Value) -> R) -> R {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body(&value)
  }

  /// Waits until a closure, called after each change, returns something.
  package func wait<R>(_ body: (inout Value) -> R?) -> R {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while true {
      if let result = body(&value) { return result }
      pthread_cond_wait(condition, mutex)
    }
  }
}
