import ConiferDocument
import ConiferDocumentServer
import ConiferWire
import Synchronization
import TestSupport
import Testing

/// When the ends of tokens take effect.
@Suite struct TokenEndTests {
  @Test(
    "A token's end ends a quiet stream, also when the clock was set back", .timeLimit(.minutes(10)))
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
    await server.waitUntilIdle()
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
