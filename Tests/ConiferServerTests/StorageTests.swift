import ConiferKeyValue
import ConiferQuery
import ConiferServer
import ConiferStorage
import ConiferTree
import ConiferWire
import Logging
import TestSupport
import Testing

/// A server whose data a store keeps.
@Suite struct StorageTests {
  private func authority(_ store: MemoryStore) throws(StoreError) -> any StorageBackend {
    var options = StorageOptions(durability: .relaxed)
    options.role = .authority
    return try MemoryBackend.open(store, name: "memory", options: options)
  }

  @Test func `Writes are there when another server opens the store`() async throws {
    let backend = try authority(MemoryStore())
    let server = Server(ServerConfiguration(clock: ServerClock(stoppedAt: 7)))
    try await server.open("ns", in: backend)
    let peer = Peer(server)
    peer.put("a", ["x": 1, "y": Node(2, priority: 3)])
    peer.merge(.root, [("a/x", .empty), ("b/c", Node(.serverValue(.timestamp)))])
    peer.put("b/n", Node(.serverValue(.increment(2))))
    peer.put("b/n", Node(.serverValue(.increment(2))))
    peer.ask(.onDisconnectPut("gone", true))
    peer.session.end()
    await server.waitUntilIdle("ns")
    let expected: Node = [
      "a": ["y": Node(2, priority: 3)], "b": ["c": 7, "n": 4], "gone": true,
    ]
    #expect(server.data(in: "ns") == expected)
    let other = Server()
    try await other.open("ns", in: backend)
    #expect(other.data(in: "ns") == expected)
    try await other.open("other", in: backend)
    #expect(other.data(in: "other").isEmpty)
    try await backend.close()
  }

  @Test func `What the store reports of itself is logged when a database is opened`() async throws {
    let backend = try authority(MemoryStore())
    let tree = try await backend.tree(named: "ns")
    for (tree, place) in [(TreeID(rawValue: 0), "the end"), (tree, "a part")] {
      _ = try await backend.commit(
        [.report(Incident(kind: .recordSetAside, tree: tree, place: place, bytes: []))], .relaxed)
    }
    let notes = Gathered<String>()
    let server = Server(
      ServerConfiguration(logger: Logger(label: "test") { _ in NotingLogHandler(notes: notes) }))
    try await server.open("ns", in: backend)
    try await server.open("other", in: backend)
    #expect(notes.all.count == 1 && notes.all.allSatisfy { $0.contains("the end") })
    // Once each, what comes later too.
    for place in ["later", "and later"] {
      _ = try await backend.commit(
        [.report(Incident(kind: .recordSetAside, tree: tree, place: place, bytes: []))], .relaxed)
    }
    try await eventually("a report is not logged") { notes.all.count >= 3 }
    #expect(notes.all.count == 3 && notes.all.contains { $0.contains("and later") })
    try await backend.close()
  }

  @Test func `A write is told and answered once it is committed, and later ones wait`() async throws
  {
    let backend = try authority(MemoryStore())
    let server = Server()
    try await server.open("ns", in: backend)
    let (peer, other) = (Peer(server), Peer(server))
    other.listen(.root)
    for number in 1...20 as ClosedRange<UInt64> {
      peer.session.receive(
        .request(number, .put("a", Node(.integer(Int64(number))), hash: nil)))
    }
    peer.session.receive(.request(21, .get(QueryTarget("a"))))
    await server.waitUntilIdle("ns")
    let answers = peer.messages()
    #expect(answers.count == 21)
    #expect(answers.last == .response(21, Response(.ok, node: 20)))
    #expect(
      other.news()
        == (1...20).map { .overwrite("a", Node(.integer(Int64($0))), tag: nil) })
    try await backend.close()
  }

  @Test func `A write that cannot be stored is refused and changes nothing`() async throws {
    let backend = try authority(MemoryStore())
    let server = Server()
    try await server.open("ns", in: backend)
    let (peer, other) = (Peer(server), Peer(server))
    peer.put("a", 1)
    other.listen("a")
    await server.waitUntilIdle("ns")
    _ = (peer.messages(), other.messages())
    try await backend.close()
    peer.session.receive(.request(9, .put("a", 2, hash: nil)))
    await server.waitUntilIdle("ns")
    let answers = peer.messages()
    guard case .response(9, let response)? = answers.first else {
      Issue.record("\(answers)")
      return
    }
    #expect(response.status == .unavailable)
    #expect(server.data(in: "ns") == ["a": 1])
    #expect(other.news().isEmpty)
  }

  @Test func `A database has a tree from its first write on`() async throws {
    let backend = try authority(MemoryStore())
    func trees() throws(StoreError) -> [String] {
      try backend.read { (view) throws(StoreError) in try view.trees().map(\.name) }
    }
    let server = Server()
    try await server.open("ns", in: backend)
    let peer = Peer(server)
    peer.listen("a")
    peer.ask(.get(QueryTarget(.root)))
    peer.put("a", .empty)
    await server.waitUntilIdle("ns")
    #expect(try trees() == [])
    peer.put("a", 1)
    peer.put("b", 2)
    await server.waitUntilIdle("ns")
    #expect(try trees() == ["ns"])
    let other = Server()
    try await other.open("ns", in: backend)
    #expect(other.data(in: "ns") == ["a": 1, "b": 2])
    await #expect(throws: StoreError.self) { try await server.open("", in: backend) }
    let long = String(repeating: "a", count: 257)
    await #expect(throws: StoreError.self) { try await server.open(long, in: backend) }
    try await backend.close()
  }

  @Test func `What happens at a disconnect is one commit`() async throws {
    let backend = try authority(MemoryStore())
    let server = Server()
    try await server.open("ns", in: backend)
    let (peer, other) = (Peer(server), Peer(server))
    other.listen("a")
    peer.ask(.onDisconnectPut("a", ["x": 1, "y": 2]))
    peer.ask(.onDisconnectPut("a/x", 3))
    peer.ask(.onDisconnectPut("b", Node(.serverValue(.increment(1)))))
    let again = Peer(server, lastSession: peer.session.name)
    again.session.receive(.request(1, .get(QueryTarget(.root))))
    await server.waitUntilIdle("ns")
    let expected: Node = ["a": ["x": 3, "y": 2], "b": 1]
    #expect(again.messages().last == .response(1, Response(.ok, node: expected)))
    #expect(
      other.news() == [
        .overwrite("a", ["x": 1, "y": 2], tag: nil), .overwrite("a/x", 3, tag: nil),
      ])
    let stored = Server()
    try await stored.open("ns", in: backend)
    #expect(stored.data(in: "ns") == expected)
    try await backend.close()
  }

  @Test func `Only an authority is served, and a database once`() async throws {
    let cache = try MemoryBackend.open(
      MemoryStore(), name: "memory", options: StorageOptions(durability: .relaxed))
    let server = Server()
    await #expect(throws: StoreError.self) { try await server.open("ns", in: cache) }
    let backend = try authority(MemoryStore())
    try await server.open("ns", in: backend)
    await #expect(throws: StoreError.self) { try await server.open("ns", in: backend) }
    try await cache.close()
    try await backend.close()
  }

  @Test(arguments: Programs.seeds)
  func `What a store keeps of random writes is what the server holds`(seed: UInt64) async throws {
    var random = Seeded(seed)
    let backend = try authority(MemoryStore())
    let server = Server()
    try await server.open("ns", in: backend)
    let peer = Peer(server)
    for number in 1...120 as ClosedRange<UInt64> {
      let base = Programs.path(&random, longest: 2)
      let request: Request =
        switch random.below(4) {
        case 0:
          .merge(
            base,
            [
              NodeChange("b/1", Programs.node(1, &random)), NodeChange("b/2", .empty),
              NodeChange(
                Path([.priority]), Programs.priority(&random).map { Node($0.leaf) } ?? .empty),
            ])
        case 1: .put(base, random.one(in: 2) ? .empty : Programs.leaf(&random), hash: nil)
        case 2: .put(base.appending(.priority), 7, hash: nil)
        default: .put(base, Programs.node(2, &random), hash: nil)
        }
      peer.session.receive(.request(number, request))
    }
    await server.waitUntilIdle("ns")
    let other = Server()
    try await other.open("ns", in: backend)
    #expect(other.data(in: "ns") == server.data(in: "ns"), "seed \(seed)")
    try await backend.close()
  }
}
