#if Network
  import ConiferServer
  import ConiferStorage
  import ConiferTree
  import ConiferWire
  import Foundation
  import TestSupport
  import Testing

  /// What a server keeps for the end of a session, and stores then.
  @Suite(.timeLimit(.minutes(10))) struct DisconnectTests {
    @Test(arguments: DurableStore.allCases)
    func `As much as may happen at a session's end is stored`(_ store: DurableStore) async throws {
      let directory = FileManager.default.temporaryDirectory.path + "/ends-\(UUID().uuidString)"
      try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: directory) }
      func open() async throws -> (any StorageBackend, Server) {
        let options = StorageOptions(role: .authority)
        let backend = try store.configuration(at: directory + "/store", options).open()
        let server = Server()
        try await server.open(Service.namespace, in: backend)
        return (backend, server)
      }
      var (backend, server) = try await open()
      let answers = Gathered<Response.Status>()
      let session = server.connect(to: Service.namespace) { event in
        if case .message(.response(_, let response)) = event { answers.add(response.status) }
      }
      // The longest strings that there are, and many values; 32 MiB may wait in all.
      let long = Node(.string(String(repeating: "x", count: Leaf.longest)))
      let small = Node(children: (0..<20_000).map { (Key("k\($0)"), Node(.integer(Int64($0)))) })
      for (number, name) in ["a", "b", "c", "small", "d"].enumerated() {
        let node = name == "small" ? small : long
        session.receive(.request(UInt64(number), .onDisconnectPut(Path("left/\(name)"), node)))
      }
      // Each is answered once it is stored.
      await server.waitUntilIdle(Service.namespace)
      #expect(answers.all == [.ok, .ok, .ok, .ok, .tooBig])
      session.end()
      await server.waitUntilIdle(Service.namespace)
      // Hashes, as nobody reads megabytes of what differs.
      let left = NodeHash.hash(["a": long, "b": long, "c": long, "small": small])
      #expect(NodeHash.hash(server.data("left", in: Service.namespace)) == left)
      try await backend.close()
      (backend, server) = try await open()
      #expect(NodeHash.hash(server.data("left", in: Service.namespace)) == left)
      try await backend.close()
    }
  }
#endif
