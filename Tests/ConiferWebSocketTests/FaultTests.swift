#if Network
  import Conifer
  import ConiferKeyValue
  import ConiferLMDB
  import ConiferServer
  import ConiferServerHTTP
  import ConiferStorage
  import ConiferTree
  import ConiferWire
  import NetworkTestSupport
  import TestSupport
  import Testing

  /// Clients of a server, with a network between them that goes wrong.
  @Suite(.timeLimit(.minutes(15)), .serialized) struct FaultTests {
    private static let seeds = (0..<UInt64(size("CONIFER_NETWORKS", 2))).map { $0 + 1 }

    /// Writes of one client, and what follows them.
    private func write(
      _ database: Database, _ name: String, _ count: Int, seed: UInt64
    ) -> [WriteReceipt] {
      var random = Seeded(seed)
      let top = database.reference()
      return (0..<count).map { number in
        switch Int.random(in: 0..<6, using: &random) {
        case 0: top.child("shared").setValue("\(name) \(number)")
        case 1: top.child("lists/\(name)/\(number)").setValue(["n": number, "of": name])
        case 2: top.updateChildValues(["both/\(name)": number, "last/\(name)/at": number])
        case 3: top.child("long/\(name)").setValue(String(repeating: "é", count: 20_000))
        case 4: top.child("lists/\(name)/\(number - 1)").removeValue()
        default: top.child("numbers/\(name)/n\(number)").setValue(number)
        }
      }
    }

    @Test(arguments: seeds)
    func `Clients converge over a network that delays, splits, loses and cuts`(
      _ seed: UInt64
    ) async throws {
      let service = try await Service()
      let proxy = try await FaultyProxy(to: service.port, seed: seed, faults: 8)
      let clients = (0..<3).map { _ in client("ws://127.0.0.1:\(proxy.port)", speed: 60) }
      let watches = clients.map { Watch($0.reference()) }
      var receipts: [WriteReceipt] = []
      for round in 0..<3 {
        for (index, database) in clients.enumerated() {
          let seed = seed &* 100 &+ UInt64(round * 10 + index)
          receipts += write(database, "c\(index)", 12, seed: seed)
        }
        _ = try await receipts.last?.durable
      }
      for receipt in receipts { try await receipt.acknowledged() }
      let data = service.data()
      for watch in watches { await watch.wait { $0 == data } }
      #expect(service.data() == data)
      for (index, database) in clients.enumerated() {
        #expect(try await database.reference().getData().node == data, "client \(index) of \(seed)")
        #expect(try await database.pendingWriteTotals().pending == 0)
        await database.close()
      }
      #expect(proxy.counts.faults == 8, "seed \(seed)")
      await service.http.stop()
    }

    @Test func `Every write reaches its end when the server is ended and starts again`()
      async throws
    {
      let scratch = try Scratch()
      func open() throws -> any StorageBackend {
        var options = StorageOptions()
        options.role = .authority
        options.durability = .process
        return try StorageConfiguration.lmdb(at: scratch.store, options: options).open()
      }
      var backend = try open()
      var service = try await Service(in: backend)
      let proxy = try await FaultyProxy(to: service.port, seed: 7, faults: 2)
      let clients = (0..<2).map { _ in client("ws://127.0.0.1:\(proxy.port)", speed: 60) }
      let watches = clients.map { Watch($0.reference()) }
      var receipts: [WriteReceipt] = []
      for round in 0..<3 {
        for (index, database) in clients.enumerated() {
          receipts += write(database, "c\(index)", 20, seed: UInt64(round * 10 + index))
        }
        // Some are answered, some are under way, some not sent.
        _ = try await receipts.last?.durable
        try await proxy.cut()
        await service.http.stop()
        await service.server.waitUntilIdle(Service.namespace)
        let before = service.data()
        try await backend.close()
        backend = try open()
        service = try await Service(in: backend)
        #expect(service.data() == before)
        proxy.lead(to: service.port)
      }
      for receipt in receipts { try await receipt.acknowledged() }
      let data = service.data()
      for watch in watches { await watch.wait { $0 == data } }
      for database in clients { await database.close() }
      await service.http.stop()
      await service.server.waitUntilIdle(Service.namespace)
      try await backend.close()
      backend = try open()
      service = try await Service(in: backend)
      #expect(service.data() == data)
      await service.http.stop()
      try await backend.close()
    }

    @Test func `Increments by transactions of eight clients are all there`() async throws {
      let (count, total) = (8, size("CONIFER_INCREMENTS", 1000))
      let service = try await Service()
      let runs = try await withThrowingTaskGroup(of: Int.self) { group in
        for index in 0..<count {
          group.addTask {
            let database = client(service.url)
            let place = database.reference(withPath: "counters/all")
            var runs = 0
            for _ in 0..<(total / count + (index < total % count ? 1 : 0)) {
              while true {
                do throws(DatabaseError) {
                  runs += 1
                  let result = try await place.runTransactionBlock { data in
                    data.value = (data.value as? Int ?? 0) + 1
                    return .success(withValue: data)
                  }
                  if result.committed { break }
                } catch {
                  // Too many others came first, 25 times.
                  guard error.code == .tooManyRetries else { throw error }
                }
              }
            }
            await database.close()
            return runs
          }
        }
        return try await group.reduce(0, +)
      }
      #expect(runs >= total)
      #expect(service.data("counters/all") == Node(.integer(Int64(total))))
      await service.http.stop()
    }

    @Test func `A connection that stands and carries nothing is given up, and writes go on`()
      async throws
    {
      let service = try await Service()
      let stalled = try await ScriptedServer()
      let proxy = try await FaultyProxy(to: stalled.port)
      let database = client("ws://127.0.0.1:\(proxy.port)", speed: 100)
      let receipt = database.reference(withPath: "a").enqueue(.set(1))
      let socket = try #require(await stalled.next())
      socket.send(.hello(.init(timestamp: 1, host: "", session: "s")))
      // The write arrives, and no answer ever comes.
      while let message = try await socket.message() {
        if case .request(_, .put) = message { break }
      }
      proxy.lead(to: service.port)
      try await receipt.acknowledged()
      #expect(service.data("a") == 1)
      await database.close()
      await service.http.stop()
    }
  }
#endif
