import ConiferDocument
import ConiferWire
import TestSupport
import Testing

@testable import ConiferDocumentServer

/// What waits for a database.
@Suite struct RequestInboxTests {
  private typealias Entry = RequestInbox.Entry

  @Test("Of a stream only so many requests wait, and its end; of others all")
  func bound() throws {
    var inbox = RequestInbox()
    let (loud, quiet) = (StreamID(rawValue: 1), StreamID(rawValue: 2))
    var begins = [inbox.add(Entry(.tick))]
    for _ in 0..<10_000 {
      begins.append(inbox.add(Entry(.writes(loud, .send([], batch: nil, token: [])))))
    }
    begins.append(inbox.add(Entry(.writes(quiet, .send([], batch: nil, token: [])))))
    begins.append(inbox.add(Entry(.writes(loud, .close))))
    // Somebody does what waits until nothing does.
    #expect(begins.first == .begins && begins.dropFirst().allSatisfy { $0 == .waits })
    let requests = inbox.take()
    try #require(requests.count == RequestInbox.maxRequestsPerStream + 4)
    guard case .flooded(loud) = requests[RequestInbox.maxRequestsPerStream + 1],
      case .writes(quiet, .send) = requests[RequestInbox.maxRequestsPerStream + 2],
      case .writes(loud, .close) = requests[RequestInbox.maxRequestsPerStream + 3]
    else {
      Issue.record("What waits is \(requests.suffix(3)).")
      return
    }
    // All of that is done when nothing waits.
    #expect(inbox.take().isEmpty)
    begins = [inbox.add(Entry(.watch(loud, .remove(2))))]
    let counts = (0..<2).map { _ in inbox.take().count }
    begins.append(inbox.add(Entry(.tick)))
    #expect(begins == [.begins, .begins] && counts == [1, 0])
  }

  private func caller() throws -> Caller { try Caller(nil, .open, now: .zero) }

  /// A commit of a connection's, or of the server itself.
  private func entry(_ writes: [Mutation], _ connection: UInt64?) throws -> RequestInbox.Entry {
    let caller = connection == nil ? Caller.server : try caller()
    return RequestInbox.Entry(
      .commit(writes, .caller(caller, connection.map { ConnectionID(rawValue: $0) }) { _ in }))
  }

  private func megabyte() throws -> [Mutation] {
    [try set("a/1", [("text", .value(.string(String(repeating: "x", count: 1_000_000))))])]
  }

  @Test("Of a stream, and of a connection's calls, only so many bytes wait")
  func bytes() throws {
    var inbox = RequestInbox()
    let megabyte = try megabyte()
    let (loud, quiet) = (StreamID(rawValue: 1), StreamID(rawValue: 2))
    for _ in 0..<200 { _ = inbox.add(Entry(.writes(loud, .send(megabyte, batch: nil, token: [])))) }
    _ = inbox.add(Entry(.writes(quiet, .send(megabyte, batch: nil, token: []))))
    // One that is too large for any client is refused when its turn comes.
    let large = Array(repeating: megabyte[0], count: 200)
    _ = inbox.add(Entry(.writes(StreamID(rawValue: 3), .send(large, batch: nil, token: []))))
    let waiting = inbox.take()
    #expect((90...106).contains(waiting.count - 2))
    #expect(waiting.count { if case .flooded(loud) = $0 { true } else { false } } == 1)
    let calls = try (0..<200).map { _ in inbox.add(try entry(megabyte, 1)) }
    #expect((90...105).contains(calls.count { $0 != .refused }))
    // The server's own are never refused.
    #expect(inbox.add(try entry(large, nil)) == .waits)
  }

  @Test("The calls of one connection leave room for those of others")
  func connections() throws {
    var inbox = RequestInbox()
    let many = try (0...RequestInbox.maxCommitsPerConnection).map { _ in inbox.add(try entry([], 1))
    }
    #expect(many.firstIndex(of: .refused) == RequestInbox.maxCommitsPerConnection)
    #expect(inbox.add(try entry([], 2)) == .waits)
  }

  @Test("What was taken out counts until it is done")
  func taken() throws {
    var inbox = RequestInbox()
    let (loud, connection) = (StreamID(rawValue: 1), UInt64(2))
    for _ in 0..<RequestInbox.maxRequestsPerStream {
      _ = inbox.add(Entry(.watch(loud, .remove(2))))
    }
    for _ in 0..<RequestInbox.maxCommitsPerConnection { _ = inbox.add(try entry([], connection)) }
    #expect(
      inbox.take().count == RequestInbox.maxRequestsPerStream + RequestInbox.maxCommitsPerConnection
    )
    #expect(inbox.add(try entry([], connection)) == .refused)
    for _ in 0..<2 { #expect(inbox.add(Entry(.watch(loud, .remove(2)))) == .waits) }
    // All of that is done, but for the end of the stream.
    guard case .flooded(loud)? = inbox.requests.first, inbox.requests.count == 1 else {
      Issue.record("What waits is \(inbox.requests).")
      return
    }
    #expect(inbox.take().count == 1)
    #expect(inbox.add(try entry([], connection)) == .waits)
    #expect(inbox.add(Entry(.watch(loud, .remove(2)))) == .waits && inbox.requests.count == 1)
    #expect(inbox.take().count == 1)
    #expect(inbox.add(Entry(.watch(loud, .remove(2)))) == .waits && inbox.requests.count == 1)
  }

  @Test("Of all only so much waits, and whoever has nothing waiting may have one request")
  func all() throws {
    var inbox = RequestInbox()
    let megabyte = try megabyte()
    var accepted = 0
    for connection in 0..<20 {
      for _ in 0..<90 where inbox.add(try entry(megabyte, UInt64(connection))) != .refused {
        accepted += 1
      }
    }
    // A thousand and some, and one each of the last connections.
    #expect((1_000...1_060).contains(accepted), "\(accepted)")
    #expect(inbox.add(try entry(megabyte, 100)) == .waits)
    #expect(inbox.add(try entry([], 100)) == .refused)
    var many = RequestInbox()
    var count = 0
    for connection in 0..<200 {
      for _ in 0..<RequestInbox.maxCommitsPerConnection
      where many.add(try entry([], UInt64(connection))) != .refused {
        count += 1
      }
    }
    #expect(count == RequestInbox.maxRequests + 100)
  }

  @Test("Each link is a connection of its own")
  func links() async throws {
    let rig = try Rig()
    #expect(rig.link().connection != rig.link().connection)
    try await rig.server.close()
  }

  @Test("A call that comes while too many of its connection wait is refused")
  func busy() async throws {
    let backend = try GatedBackend()
    let rig = try Rig(backend)
    let host = rig.server.host(database)
    let committed = await backend.hold(try set("a/first", []), by: rig.server)
    let answers = Gathered<Result<CommitResult, StatusError>>()
    let (caller, connection) = (try caller(), host.newConnection())
    for _ in 0...RequestInbox.maxCommitsPerConnection {
      host.post(.commit([], .caller(caller, connection) { answers.add($0.map(\.result)) }))
    }
    #expect(answers.all == [.failure(RequestInbox.busy)])
    backend.open()
    _ = try await committed.value
    await rig.waitUntilIdle()
    #expect(answers.all.count == RequestInbox.maxCommitsPerConnection + 1)
    try await rig.server.close()
  }

  @Test("A stream that sends more than may wait ends, and others go on")
  func flood() async throws {
    let backend = try GatedBackend()
    let rig = try Rig(backend)
    let (loud, quiet) = (rig.link(), rig.link())
    let watch = Listener(loud.transport.service)
    let writer = Writer(quiet.transport.service)
    writer.greet()
    await rig.waitUntilIdle()
    // All comes while a commit is being stored.
    let committed = await backend.hold(try set("a/first", []), by: rig.server)
    for _ in 0..<RequestInbox.maxRequestsPerStream + 1 { watch.remove(2) }
    writer.send(try set("a/1", []))
    while rig.pump.step() {}
    backend.open()
    _ = try await committed.value
    await rig.waitUntilIdle()
    #expect((watch.now.closed ?? nil)?.message == RequestInbox.flooded.message)
    #expect(writer.now.answers.count == 1 && writer.now.closed == nil)
    try await rig.server.close()
  }
}
