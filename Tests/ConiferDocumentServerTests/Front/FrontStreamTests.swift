import ConiferDocument
import ConiferWire
import Testing

@testable import ConiferDocumentServer

/// Streams of clients over a network, and what they leave behind.
@Suite(.timeLimit(.minutes(10))) struct FrontStreamTests {
  /// The next event that is wanted.
  private func next<Said: Sendable, Wanted>(
    _ stream: FrontStream<Said>, _ wanted: (Said) -> Wanted?
  ) async -> Wanted? {
    for await said in stream.said { if let found = wanted(said) { return found } }
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
  ) async throws -> (FrontWrites, token: [UInt8]) {
    let writes = FrontWrites(writingTo: server, token: nil)
    try writes.open(database)
    writes.greet(token: token)
    return (writes, try #require(await next(writes, answered)))
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
    await server.settle()
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
    for await event in writes.said {
      if case .answered = event { answers += 1 }
      if case .closed(let error) = event { #expect(error?.code == .invalidArgument) }
    }
    #expect(answers == 2)
    let unopened = FrontWrites(writingTo: server, token: nil)
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
    let watch = FrontWatch(listeningTo: server, token: nil)
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
