import ConiferDocument
import ConiferWire
import TestSupport
import Testing

@testable import ConiferDocumentServer

/// What waits for a database.
@Suite struct RequestInboxTests {
  @Test("Of a stream only so many requests wait, and its end; of others all")
  func bound() throws {
    var inbox = RequestInbox()
    let (loud, quiet) = (StreamID(rawValue: 1), StreamID(rawValue: 2))
    var begins = [inbox.add(.tick)]
    for _ in 0..<10_000 { begins.append(inbox.add(.writes(loud, .send([], token: [])))) }
    begins.append(inbox.add(.writes(quiet, .send([], token: []))))
    begins.append(inbox.add(.writes(loud, .close)))
    // Somebody does what waits until nothing does.
    #expect(begins.first == .begins && begins.dropFirst().allSatisfy { $0 == .waits })
    let requests = inbox.take()
    try #require(requests.count == RequestInbox.mostOfStream + 4)
    guard case .flooded(loud) = requests[RequestInbox.mostOfStream + 1],
      case .writes(quiet, .send) = requests[RequestInbox.mostOfStream + 2],
      case .writes(loud, .close) = requests[RequestInbox.mostOfStream + 3]
    else {
      Issue.record("What waits is \(requests.suffix(3)).")
      return
    }
    begins = [inbox.add(.watch(loud, .remove(2)))]
    let counts = (0..<2).map { _ in inbox.take().count }
    begins.append(inbox.add(.tick))
    #expect(begins == [.waits, .begins] && counts == [1, 0])
  }

  @Test("Of a stream, and of all calls, only so many bytes wait")
  func bytes() throws {
    var inbox = RequestInbox()
    let text = String(repeating: "x", count: 1_000_000)
    let megabyte = [try set("a/1", [("text", .value(.string(text)))])]
    let (loud, quiet) = (StreamID(rawValue: 1), StreamID(rawValue: 2))
    for _ in 0..<200 { _ = inbox.add(.writes(loud, .send(megabyte, token: []))) }
    _ = inbox.add(.writes(quiet, .send(megabyte, token: [])))
    // One that is too large for any client is refused when its turn comes.
    let large = Array(repeating: megabyte[0], count: 200)
    _ = inbox.add(.writes(StreamID(rawValue: 3), .send(large, token: [])))
    let waiting = inbox.take()
    #expect((90...106).contains(waiting.count - 2))
    #expect(waiting.count { if case .flooded(loud) = $0 { true } else { false } } == 1)
    let caller = try Caller(nil, .open, now: .zero)
    let calls = (0..<200).map { _ in inbox.add(.commit(megabyte, .caller(caller) { _ in })) }
    #expect((90...105).contains(calls.count { $0 != .refused }))
    // The server's own are never refused.
    #expect(inbox.add(.commit(large, .caller(.server) { _ in })) == .waits)
    _ = inbox.take()
    let small = (0...RequestInbox.mostCalls).map { _ in
      inbox.add(.commit([], .caller(caller) { _ in }))
    }
    #expect(small.firstIndex(of: .refused) == RequestInbox.mostCalls)
  }

  @Test("A call that comes while too many wait is refused")
  func busy() async throws {
    let backend = try GatedBackend()
    let rig = try Rig(backend)
    let host = rig.server.host(database)
    let committed = await backend.hold(try set("a/first", []), by: rig.server)
    let answers = Gathered<Result<CommitResult, StatusError>>()
    let caller = try Caller(nil, .open, now: .zero)
    for _ in 0...RequestInbox.mostCalls {
      host.post(.commit([], .caller(caller) { answers.add($0) }))
    }
    #expect(answers.all == [.failure(RequestInbox.busy)])
    backend.open()
    _ = try await committed.value
    await rig.settle()
    #expect(answers.all.count == RequestInbox.mostCalls + 1)
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
    await rig.settle()
    // All comes while a commit is being stored.
    let committed = await backend.hold(try set("a/first", []), by: rig.server)
    for _ in 0..<RequestInbox.mostOfStream + 1 { watch.remove(2) }
    writer.send(try set("a/1", []))
    while rig.pump.step() {}
    backend.open()
    _ = try await committed.value
    await rig.settle()
    #expect((watch.now.closed ?? nil)?.message == RequestInbox.flooded.message)
    #expect(writer.now.answers.count == 1 && writer.now.closed == nil)
    try await rig.server.close()
  }
}
