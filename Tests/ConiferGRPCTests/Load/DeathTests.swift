#if GRPC && Network
  import ConiferFirestore
  import Foundation
  import NetworkTestSupport
  import Synchronization
  import TestSupport
  import Testing

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// Servers and clients of documents that are killed, with a network between them that cuts, delays and splits.
  ///
  /// `CONIFER_DEATHS` says how many seeds each store gets; one otherwise.
  @Suite(
    "Deaths over gRPC", .timeLimit(.minutes(30)), .serialized,
    .enabled(if: ServerProcess.tool != nil, "The built tool is not beside the tests."))
  struct GRPCDeathTests {
    @Test(
      "Killed servers and clients lose no acknowledged and no durable write, and none counts twice",
      arguments: deathSeeds(of: DurableStore.allCases))
    func deaths(_ store: DurableStore, _ seed: UInt64) async throws {
      let directory =
        FileManager.default.temporaryDirectory.path + "/grpc-deaths-\(UUID().uuidString)"
      try FileManager.default.createDirectory(
        atPath: directory, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: directory) }
      let network = try await RestartedServer(
        ["--store", "\(store)://\(directory)/server", "--grpc-port", "0"],
        port: { $0.grpcPort }, seed: seed)
      let lives = ["ada", "bob"].map {
        ClientLife(store: store, directory: directory, port: network.proxy.port, name: $0)
      }
      let server = try await network.outlive(clients: lives.count) { client, number in
        let (life, seed) = (lives[client], seed &* 100 &+ UInt64(client * 10 + number))
        await #expect(processExitsWith: .signal(SIGKILL)) {
          [life = life as ClientLife, number = number as Int, seed = seed as UInt64] in
          try await life.live(number, seed: seed)
        }
      }
      defer { server.kill() }
      try await check(lives, server, seed)
      #expect(network.proxy.counts.faults > 0)
    }

    /// Lets the clients go on to their ends, and looks at what the server has.
    private func check(_ lives: [ClientLife], _ server: ServerProcess, _ seed: UInt64) async throws
    {
      let clients = lives.map { $0.open() }
      let watches = clients.map { db in
        ClientLife.collections.map { Watch(db.collection($0)) }
      }
      for db in clients { try await db.waitForPendingWrites() }
      let other = loadClient(server.grpcPort)
      var data: [String: [String: Int64]] = [:]
      for name in ClientLife.collections {
        data[name] = try await other.collection(name).numbers()
      }
      #expect(lives.contains { !$0.noted("acknowledged").isEmpty }, "\(seed)")
      for (life, (db, watches)) in zip(lives, zip(clients, watches)) {
        let what = "\(life.store), \(life.name) of \(seed)"
        func numbers(_ collection: String) -> Set<Int64> {
          Set((data[collection] ?? [:]).filter { $0.key.hasPrefix("\(life.name)-") }.values)
        }
        let lists = numbers("lists")
        let found = numbers("plain").union(lists)
        let (durable, acknowledged) = (life.noted("durable"), life.noted("acknowledged"))
        #expect(try await db.pendingWrites().isEmpty, "\(what)")
        #expect(try await db.rejectedWrites().isEmpty, "\(what)")
        #expect(acknowledged.isSubset(of: durable), "\(what)")
        #expect(durable.subtracting(found).isEmpty, "\(what)")
        #expect(data["counts"]?[life.name] ?? 0 == Int64(lists.count), "\(what)")
        for (name, watch) in zip(ClientLife.collections, watches) {
          await watch.wait(for: data[name] ?? [:], "\(what): \(name)")
          watch.end()
        }
        print(
          "deaths over gRPC: \(life.store) \(seed) \(life.name): \(durable.count) durable,",
          "\(acknowledged.count) acknowledged, \(found.count) found")
      }
      for db in clients + [other] { try await db.terminate() }
    }
  }
#endif
