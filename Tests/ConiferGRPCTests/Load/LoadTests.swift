#if GRPC && Network
  import ConiferFirestore
  import ConiferProtobuf
  import Foundation
  import NetworkTestSupport
  import SwiftProtobuf
  import Testing

  /// Many writes of many clients at once; CONIFER_LOAD sets how many each makes, CONIFER_LISTENERS how many listeners they
  /// have in all.
  @Suite(
    "Load over gRPC", .timeLimit(.minutes(30)), .serialized,
    .enabled(if: ServerProcess.tool != nil, "The built tool is not beside the tests."))
  struct GRPCLoadTests {
    /// Each core has an event loop and an arena of memory.
    private static let ofCores = ProcessInfo.processInfo.activeProcessorCount << 21

    /// Bytes that Linux tells of, and other systems may not.
    private func known(_ bytes: Int?) throws -> Int? {
      #if os(Linux)
        let some: Int = try #require(bytes)
        return some
      #else
        return bytes
      #endif
    }

    @Test("Of eight clients' writes none is lost, doubled or out of order")
    func load() async throws {
      let memory = PeakMemory()
      let (count, writes) = (8, size("CONIFER_LOAD", 50))
      let rooms = max(1, size("CONIFER_LISTENERS", 160) / count)
      let server = try ServerProcess(["--grpc-port", "0"])
      defer { server.kill() }
      let clients = (0..<count).map { _ in loadClient(server.grpcPort) }
      let watches = clients.map { db in
        (0..<rooms).map { Watch(db.collection("rooms/r\($0)/items")) }
      }
      let orders = clients.map { Watch($0.collection("last"), ascends: true) }
      let clock = ContinuousClock()
      let start = clock.now
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (index, db) in clients.enumerated() {
          group.addTask {
            var newest: WriteReceipt?
            for number in 1...writes {
              let batch = db.batch()
              let room = (index * writes + number) % rooms
              batch.setData(
                ["n": number], forDocument: db.document("rooms/r\(room)/items/c\(index)-\(number)"))
              batch.setData(["n": number], forDocument: db.document("last/c\(index)"))
              batch.setData(
                ["n": FieldValue.increment(1)], forDocument: db.document("counts/c\(index)"),
                merge: true)
              newest = batch.enqueue()
              // An app that writes faster than it is answered, but not all at once.
              guard number % 100 == 0 else { continue }
              _ = try await newest?.acknowledged()
              memory.look()
            }
            try await newest?.acknowledged()
            memory.look()
            #expect(try await db.pendingWrites().isEmpty)
          }
        }
        try await group.waitForAll()
      }
      let written = clock.now - start
      let other = loadClient(server.grpcPort)
      let wanted = Dictionary(uniqueKeysWithValues: (0..<count).map { ("c\($0)", Int64(writes)) })
      #expect(try await other.collection("counts").numbers() == wanted)
      #expect(try await other.collection("last").numbers() == wanted)
      var items = [[String: Int64]](repeating: [:], count: rooms)
      for index in 0..<count {
        for number in 1...writes {
          items[(index * writes + number) % rooms]["c\(index)-\(number)"] = Int64(number)
        }
      }
      for (client, watches) in watches.enumerated() {
        for (room, watch) in watches.enumerated() {
          await watch.wait(for: items[room], "client \(client), room \(room)")
        }
      }
      for order in orders { await order.wait(for: wanted, "the last numbers") }
      #expect(orders.map(\.wrong) == [Int](repeating: 0, count: count))
      let told = clock.now - start
      memory.look()
      // What listeners were told is what the server has.
      for room in 0..<min(rooms, 20) {
        #expect(try await other.collection("rooms/r\(room)/items").numbers() == items[room])
      }
      let batches = count * writes
      let growth = try known(memory.growth)
      let served = try known(server.anonymousMemory)
      print(
        "load over gRPC: \(count) clients, \(writes) batches of 3 writes each, \(count * rooms) listeners:",
        "\(Int(Double(batches) / (written / .seconds(1)))) batches/s,",
        "all told after \(told), \((growth ?? 0) >> 20) MiB of memory of the clients,",
        "\((served ?? 0) >> 20) MiB of the server")
      // Documents that are listened to are in memory.
      if let served { #expect(served < (64 << 20) + Self.ofCores + 3 * batches * 4096) }
      // Otherwise other tests run beside in this process.
      if let growth, ProcessInfo.processInfo.environment["CONIFER_LOAD"] != nil {
        #expect(growth < (256 << 20) + Self.ofCores + count * batches * 2048)
      }
      for watch in watches.joined() { watch.end() }
      for db in clients + [other] { try await db.terminate() }
    }

    /// Each of the listeners would have 10 MB of changes.
    @Test("Listeners that read nothing cost the server no more than a moment each")
    func unread() async throws {
      let server = try ServerProcess(["--grpc-port", "0"])
      defer { server.kill() }
      let db = loadClient(server.grpcPort)
      let text = String(repeating: "x", count: 500_000)
      let document = db.document("rooms/a")
      try await document.setData(["text": text])
      let name = "projects/load/databases/(default)"
      let listen = ProtoListenRequest.with {
        $0.database = name
        $0.addTarget.targetID = 2
        $0.addTarget.documents.documents = ["\(name)/documents/rooms/a"]
      }
      var listeners: [RawStream] = []
      for _ in 0..<32 {
        let connection = try await RawConnection(server.grpcPort)
        let call = try await connection.call("Listen", reads: false)
        try await call.send(RawStream.framed(try listen.serializedBytes()))
        #expect(await call.readsSome())
        listeners.append(call)
      }
      let before = try known(server.anonymousMemory) ?? 0
      var growth = 0
      for n in 1...20 {
        try await document.setData(["text": text, "n": n])
        growth = max(growth, (try known(server.anonymousMemory) ?? 0) - before)
      }
      print("listeners that read nothing: \(growth >> 20) MiB more of the server")
      #expect(growth < (96 << 20) + Self.ofCores, "\(growth >> 20) MiB")
      for listener in listeners { await listener.close() }
      try await db.terminate()
    }
  }
#endif
