#if Network
  import Conifer
  import ConiferServerHTTP
  import ConiferTree
  import Foundation
  import Synchronization
  import NetworkTestSupport
  import TestSupport
  import Testing

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// Servers and clients that are killed, with a network between them that goes wrong.
  ///
  /// `CONIFER_DEATHS` says how many seeds each store gets; one of all stores each otherwise.
  @Suite(
    .timeLimit(.minutes(15)), .serialized,
    .enabled(if: ServerProcess.tool != nil, "The built tool is not beside the tests."))
  struct DeathTests {
    @Test(arguments: deathSeeds(of: DurableStore.allCases))
    func `Killed servers and clients lose no acknowledged write, and none counts twice`(
      _ store: DurableStore, _ seed: UInt64
    ) async throws {
      let directory = FileManager.default.temporaryDirectory.path + "/deaths-\(UUID().uuidString)"
      try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: directory) }
      let network = try await RestartedServer(
        ["--store", "\(store)://\(directory)/server", "--namespace", Service.namespace],
        port: { $0.port }, seed: seed)
      let lives = ["ada", "bob"].map {
        ClientLife(
          store: store, directory: directory, url: "ws://127.0.0.1:\(network.proxy.port)", name: $0)
      }
      let server = try await network.outlive(clients: lives.count) { client, number in
        let (life, seed) = (lives[client], seed &* 100 &+ UInt64(client * 10 + number))
        await #expect(processExitsWith: .signal(SIGKILL)) {
          [life = life as ClientLife, number = number as Int, seed = seed as UInt64] in
          try await life.live(number, seed: seed)
        }
      }
      defer { server.kill() }
      try await check(lives, server, network.proxy, seed)
    }

    @Test func `Others see that a client was killed`() async throws {
      let service = try await Service()
      let database = client(service.url)
      let watch = Watch(database.reference(withPath: "users/ada/lastOnline"))
      let counts = Gathered<String>()
      database.reference(withPath: "users/ada/connections").observe(.value) {
        counts.add("\($0.childrenCount)")
      }
      await watch.wait { $0.isEmpty }
      await #expect(processExitsWith: .signal(SIGKILL)) { [url = service.url as String] in
        let database = client(url)
        let user = database.reference(withPath: "users/ada")
        for try await snapshot in database.reference(withPath: ".info/connected").snapshots
        where snapshot.value as? Bool == true {
          let connection = user.child("connections").childByAutoId()
          try await connection.onDisconnectRemoveValue()
          try await connection.setValue(true)
          try await user.child("lastOnline").onDisconnectSetValue(Conifer.ServerValue.timestamp())
          try await user.child("mistaken").onDisconnectSetValue(true)
          try await user.child("mistaken").cancelDisconnectOperations()
          raise(SIGKILL)
        }
      }
      await watch.wait { !$0.isEmpty }
      await wait(for: "three counts, not \(counts.all)") { counts.all.count >= 3 }
      #expect(counts.all == ["0", "1", "0"])
      #expect(service.data("users/ada").childCount == 1)
      #expect(service.data("users/ada/lastOnline").leaf?.number ?? 0 > 1_700_000_000_000)
      await database.close()
      await service.http.stop()
    }

    @Test(arguments: DurableStore.allCases)
    func `Others see who was there when their server was killed`(_ store: DurableStore) async throws
    {
      let directory = FileManager.default.temporaryDirectory.path + "/deaths-\(UUID().uuidString)"
      try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: directory) }
      let arguments = ["--store", "\(store)://\(directory)/s", "--namespace", Service.namespace]
      let killed = try ServerProcess(arguments)
      let database = client("ws://127.0.0.1:\(killed.port)")
      let user = database.reference(withPath: "users/ada")
      try await user.setValue(["online": true])
      try await user.child("online").onDisconnectRemoveValue()
      try await user.child("left").onDisconnectSetValue(Conifer.ServerValue.timestamp())
      killed.kill()
      // Before the next one begins, so that nobody connects again.
      await database.close()
      let next = try ServerProcess(arguments)
      defer { next.kill() }
      let other = client("ws://127.0.0.1:\(next.port)")
      let data = try await other.reference(withPath: "users/ada").getData().node
      #expect(data["online" as Key].isEmpty)
      #expect(data["left" as Key].leaf?.number ?? 0 > 1_700_000_000_000)
      await other.close()
    }

    /// Lets the clients go on to their ends, and looks at what the server has.
    private func check(
      _ lives: [ClientLife], _ server: ServerProcess, _ proxy: FaultyProxy, _ seed: UInt64
    ) async throws {
      let databases = lives.map { $0.open() }
      let watches = databases.map { Watch($0.reference()) }
      for database in databases {
        try await wait(for: "the queue of seed \(seed) to drain") {
          try await database.pendingWriteTotals().pending == 0
        }
      }
      let other = client("ws://127.0.0.1:\(server.port)")
      let data = try await other.reference().getData().node
      #expect(lives.contains { !$0.noted("acknowledged").isEmpty }, "\(seed)")
      for (life, (database, watch)) in zip(lives, zip(databases, watches)) {
        let rejected = try await database.rejectedWrites(limit: 10_000)
        for write in rejected {
          guard case .rejected(let error) = write.state else { continue }
          #expect(error.code == .outcomeUnknown, "\(life.name) of \(seed)")
        }
        let unknown = Set(rejected.flatMap(\.changes).compactMap { $0.node.leaf?.number })
        let plain = numbers(data[Path("plain/\(life.name)")])
        let list = numbers(data[Path("list/\(life.name)")])
        let found = plain.union(list)
        let durable = life.noted("durable")
        let acknowledged = life.noted("acknowledged")
        #expect(acknowledged.isSubset(of: durable))
        #expect(acknowledged.subtracting(found).isEmpty, "\(life.name) of \(seed)")
        let missing = durable.subtracting(found).filter { !unknown.contains(Double($0)) }
        #expect(missing.isEmpty, "\(life.name) of \(seed)")
        #expect(
          data[Path("count/\(life.name)")].leaf?.number ?? 0 == Double(list.count),
          "\(life.name) of \(seed)")
        await watch.wait { $0 == data }
        #expect(watch.node == data, "\(life.name) of \(seed)")
        print(
          "deaths: \(life.store) \(seed) \(life.name): \(durable.count) durable,",
          "\(acknowledged.count) acknowledged, \(found.count) found, \(rejected.count) unknown")
      }
      for database in databases + [other] { await database.close() }
      #expect(proxy.counts.faults > 0)
    }

    private func numbers(_ node: Node) -> Set<Int> {
      Set(node.children.compactMap { $0.node.leaf?.number.map { Int($0) } })
    }
  }
#endif
