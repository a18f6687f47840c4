import ConiferDocument
import ConiferWire
import TestSupport
import Testing

@testable import ConiferDocumentServer

/// Streams of clients over a network, and what they leave behind.
@Suite(.timeLimit(.minutes(10))) struct RemoteStreamTests {
  /// The next event that is wanted.
  private func next<Event: Sendable, Wanted>(
    _ stream: RemoteStream<Event>, _ wanted: (Event) -> Wanted?
  ) async -> Wanted? {
    for await said in stream.events { if let found = wanted(said) { return found } }
    return nil
  }

  private func answered(_ event: WriteStreamEvent) -> [UInt8]? {
    switch event {
    case .greeted(let token), .answered(_, let token): token
    case .opened, .closed: nil
    }
  }

  private func error(_ event: WriteStreamEvent) -> StatusError? {
    if case .closed(let error) = event { error } else { nil }
  }

  private func greeted(
    _ server: DocumentServer, token: [UInt8] = []
  ) async throws -> (RemoteWriteStream, token: [UInt8]) {
    let writes = RemoteWriteStream(writingTo: server, token: nil)
    try writes.open(database)
    writes.greet(token: token)
    return (writes, try #require(await next(writes, answered)))
  }

  @Test("What listens read counts until it is taken, and what there is no room for is refused")
  func memory() async throws {
    var configuration = DocumentServerConfiguration()
    (configuration.bounds.read, configuration.bounds.reads) = (60_000, 100_000)
    let server = try DocumentServer(configuration)
    let text = WriteValue.value(.string(String(repeating: "x", count: 4_000)))
    for n in 0..<30 {
      let path = n < 10 ? "rooms/\(n)" : "halls/\(n)"
      try await server.commit([set(path, [("text", text)])], in: database)
    }
    let (rooms, halls) = (try query("rooms").target, try query("halls").target)
    func moment(_ watch: RemoteWatchStream) async -> [WatchChange.Event]? {
      await next(watch) { events -> [WatchChange.Event]? in
        let said = events.compactMap { event -> WatchChange.Event? in
          if case .said(.targets(let change, _, _), _) = event { change } else { nil }
        }
        return said.isEmpty ? nil : said
      }
    }
    func open(_ target: WatchTarget) throws -> RemoteWatchStream {
      let watch = RemoteWatchStream(listeningTo: server, token: nil)
      try watch.open(database)
      watch.add(target)
      return watch
    }
    let first = try open(WatchTarget(2, rooms))
    #expect(await moment(first) == [.added, .current, .noChange])
    #expect((40_000...50_000).contains(server.readBytes))
    let second = try open(WatchTarget(2, rooms))
    #expect(await moment(second) == [.added, .current, .noChange])
    // Others take the memory: the client comes again.
    let third = try open(WatchTarget(2, rooms))
    let end = await next(third) { events -> StatusError?? in
      if case .closed(let error)? = events.last { error } else { nil }
    }
    #expect((end ?? nil)?.code == .resourceExhausted)
    first.taken()
    await server.waitUntilIdle()
    #expect(server.readBytes < 50_000)
    // No stream has room for the target: the others of its stream go on.
    first.add(WatchTarget(4, halls))
    let events = await moment(first) ?? []
    first.taken()
    first.add(WatchTarget(6, try query("none").target))
    #expect(await moment(first) == [.added, .current, .noChange])
    let refused = events.compactMap { event -> StatusCode? in
      if case .rejected(let error) = event { error.code } else { nil }
    }
    #expect(refused == [.resourceExhausted])
    second.end(nil)
    first.end(nil)
    await server.waitUntilIdle()
    #expect(server.readBytes == 0)
    // Clients of the process are counted too.
    let listener = Listener(server.transport(to: database).service)
    listener.add(2, try query("halls"))
    try await eventually("the target is refused") { listener.now.rejected[2] != nil }
    #expect(listener.now.rejected[2]?.code == .resourceExhausted && server.readBytes == 0)
    try await server.close()
  }

  @Test("A database stays in memory until all is done that an ended stream has asked for")
  func ended() async throws {
    let backend = try GatedBackend()
    var configuration = DocumentServerConfiguration()
    configuration.bounds.idle = 0
    let server = try DocumentServer(in: backend, configuration)
    let (writes, token) = try await greeted(server)
    backend.shut()
    writes.send([try set("rooms/a", [])], token: token)
    await backend.untilOneWaits()
    writes.send([try set("rooms/b", [])], token: token)
    writes.end(nil)
    #expect(server.hostCount == 1)
    backend.open()
    await server.waitUntilIdle()
    #expect(server.hostCount == 0)
    #expect(try await server.document(document("rooms/b"), in: database) != nil)
    try await server.close()
  }

  @Test("What is no batch ends a stream once those before it are answered")
  func refused() async throws {
    let backend = try GatedBackend()
    let server = try DocumentServer(in: backend)
    let (writes, token) = try await greeted(server)
    backend.shut()
    writes.send([try set("rooms/a", [])], token: token)
    await backend.untilOneWaits()
    writes.send([try set("rooms/b", [])], token: token)
    writes.refuse(StatusError(.invalidArgument, "It is none."))
    backend.open()
    var answers = 0
    for await event in writes.events {
      if case .answered = event { answers += 1 }
      if case .closed(let error) = event { #expect(error?.code == .invalidArgument) }
    }
    #expect(answers == 2)
    let unopened = RemoteWriteStream(writingTo: server, token: nil)
    unopened.refuse(StatusError(.invalidArgument, "It is none."))
    #expect(await next(unopened, error)?.code == .invalidArgument)
    try await server.close()
  }

  @Test("A token of an answer that was not given is refused, and a stream does not go on from it")
  func tokens() async throws {
    let server = try DocumentServer()
    let (writes, token) = try await greeted(server)
    let name = try #require(WriteToken(token)).stream
    let far = WriteToken(stream: name, answered: 100).bytes
    let (other, fresh) = try await greeted(server, token: far)
    #expect(WriteToken(fresh)?.stream != name)
    other.end(nil)
    writes.send([try set("rooms/a", [])], token: far)
    #expect(await next(writes, error)?.code == .invalidArgument)
    try await server.close()
  }

  @Test("A target that is refused under the number of another ends that one")
  func targets() async throws {
    let server = try DocumentServer()
    let watch = RemoteWatchStream(listeningTo: server, token: nil)
    try watch.open(database)
    let rooms = DocumentQuery(.collection(try CollectionPath("rooms")), in: database).target
    func events() async -> [WatchChange.Event]? {
      defer { watch.taken() }
      return await next(watch) { said in
        let events = said.compactMap { said in
          if case .said(.targets(let event, [1], _), _) = said { event } else { nil }
        }
        return events.isEmpty ? nil : events
      }
    }
    watch.add(WatchTarget(1, rooms))
    #expect(await events()?.first == .added)
    let error = StatusError(.invalidArgument, "It is none.")
    watch.refuse(1, error)
    #expect(await events() == [.rejected(error)])
    watch.add(WatchTarget(1, rooms))
    #expect(await events()?.first == .added)
    watch.end(nil)
    try await server.close()
  }
}
