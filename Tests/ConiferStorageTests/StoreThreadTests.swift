import Dispatch
import Synchronization
import Testing

@testable import ConiferStorage

/// Work of one store is done one piece at a time, on its thread or on one that waits for it.
@Suite struct StoreThreadTests {
  /// What a drain saw.
  private final class Seen: Sendable {
    let works = Mutex<[Int]>([])
    let idle = Atomic(0)
    let inside = Atomic(0)
    let overlaps = Atomic(0)
    let more = Atomic(0)

    func drain(_ works: [Int]) -> Bool {
      if inside.add(1, ordering: .relaxed).newValue > 1 { overlaps.add(1, ordering: .relaxed) }
      defer { inside.subtract(1, ordering: .relaxed) }
      if works.isEmpty { idle.add(1, ordering: .relaxed) }
      // Now and then long enough for others to come meanwhile.
      if let work = works.first, work % 100 == 0 {
        _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 0.0005)
      }
      self.works.withLock { $0 += works }
      return more.exchange(0, ordering: .relaxed) > 0
    }
  }

  @Test func `Work that is done here and work that is queued never meet`() throws {
    let seen = Seen()
    let thread = try StoreThread<Int> { works, _ in seen.drain(works) }
    DispatchQueue.concurrentPerform(iterations: 8) { writer in
      for number in 0..<400 {
        let work = writer * 1000 + number
        #expect(number % 3 == 0 ? thread.submit(work) : thread.perform(work))
      }
    }
    let done = DispatchSemaphore(value: 0)
    while seen.works.withLock({ $0.count }) < 3200 { _ = done.wait(timeout: .now() + 0.001) }
    thread.end()
    #expect(seen.overlaps.load(ordering: .relaxed) == 0)
    let works = seen.works.withLock { $0 }
    #expect(Set(works).count == 3200)
  }

  @Test func `Work is done before the call returns when nothing else is`() throws {
    let seen = Seen()
    let thread = try StoreThread<Int> { works, _ in seen.drain(works) }
    for number in 0..<100 {
      #expect(thread.perform(number))
      #expect(seen.works.withLock { $0.last } == number)
    }
    thread.end()
    #expect(!thread.perform(1))
    #expect(!thread.submit(1))
  }

  @Test func `What is left to do without work is done by the thread`() throws {
    let seen = Seen()
    let thread = try StoreThread<Int> { works, _ in seen.drain(works) }
    seen.more.store(1, ordering: .relaxed)
    #expect(thread.perform(1))
    let pause = DispatchSemaphore(value: 0)
    while seen.idle.load(ordering: .relaxed) == 0 { _ = pause.wait(timeout: .now() + 0.001) }
    thread.end()
    #expect(seen.works.withLock { $0 } == [1])
  }
}
