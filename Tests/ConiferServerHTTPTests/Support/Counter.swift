#if Network
  import Synchronization

  /// Counts, from any thread.
  final class Counter: Sendable {
    private let value = Mutex(0)

    var count: Int { value.withLock { $0 } }

    @discardableResult
    func next() -> Int {
      value.withLock {
        $0 += 1
        return $0
      }
    }
  }
#endif
