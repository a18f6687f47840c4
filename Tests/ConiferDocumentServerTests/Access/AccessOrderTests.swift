import ConiferDocument
import ConiferDocumentServer
import ConiferWire
import Dispatch
import Synchronization
import TestSupport
import Testing

/// When rules and the ends of tokens take effect.
@Suite struct AccessOrderTests {
  /// Which rules were asked last.
  private final class Asked: Sendable {
    let rules = Mutex(0)
  }

  @Test("Of rules that are set at once all databases take the same ones last")
  func atOnce() async throws {
    let rig = try Rig()
    let asked = Asked()
    let server = rig.server
    let services = (0..<10).map { number in
      server.transport(to: DatabaseID(project: "p", database: "d\(number)")).service
    }
    for service in services { _ = try await service.lookup([document("a/1")], token: nil) }
    for _ in 0..<20 {
      DispatchQueue.concurrentPerform(iterations: 4) { thread in
        for call in 0..<50 {
          server.setAccess(
            DocumentAccess(allows: { _, _ in
              asked.rules.withLock { $0 = thread * 50 + call }
              return true
            }))
        }
      }
      await server.settle()
      var last: Set<Int> = []
      for service in services {
        _ = try await service.lookup([document("a/1")], token: nil)
        last.insert(asked.rules.withLock { $0 })
      }
      #expect(last.count == 1)
    }
  }

  @Test(
    "A token's end ends a quiet stream, also when the clock was set back", .timeLimit(.minutes(1)))
  func clockSetBack() async throws {
    let start = try Timestamp(seconds: zero)
    let end = try Timestamp(seconds: zero, nanoseconds: 20_000_000)
    let later = try Timestamp(seconds: zero + 1)
    let now = Mutex(start)
    let count = Mutex(0)
    let (looks, looked) = AsyncStream<Int>.makeStream()
    let server = try DocumentServer(
      DocumentServerConfiguration(
        access: DocumentAccess(user: { DocumentUser($0, expires: end) }),
        clock: {
          looked.yield(
            count.withLock { count in
              count += 1
              return count
            })
          return now.withLock { $0 }
        }))
    let (events, told) = AsyncStream<WatchStreamEvent>.makeStream()
    let stream = server.transport(to: database).service.openWatch(token: "ada") { told.yield($0) }
    var event = events.makeAsyncIterator()
    guard case .opened = await event.next() else {
      Issue.record("The stream did not open.")
      return
    }
    await server.settle()
    // The clock stands still, so the token has not expired when its end is first looked at.
    let before = count.withLock { $0 }
    for await look in looks where look >= before + 2 { break }
    now.withLock { $0 = later }
    guard case .closed(let error) = await event.next() else {
      Issue.record("The stream did not close.")
      return
    }
    #expect(error?.code == .unauthenticated)
    stream.close()
    try await server.close()
  }
}
