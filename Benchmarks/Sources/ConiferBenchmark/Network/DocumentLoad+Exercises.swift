#if GRPC
  import ConiferFirestore
  import ConiferStorage
  import Foundation

  extension DocumentLoad {
    /// Writes one after the other, each until the server has answered it.
    func write(
      _ served: any ServedDocuments, _ storage: StorageConfiguration
    ) async throws -> [Figure] {
      let client = served.client(storage)
      let document = client.document("rooms/r0")
      // The connection and the first commit of each store do not count.
      try await document.enqueue(.set(["n": 0])).acknowledged()
      var times: [Double] = []
      let before = try served.processor()
      for number in 1...plan.awaited {
        let watch = Watch()
        try await document.enqueue(.set(["n": number, "text": "message \(number)"])).acknowledged()
        times.append(watch.sample.wall * 1000)
      }
      let processor = try served.processor() - before
      let other = served.client(.memory())
      let found = try await synced(other.collection("rooms")).documents.first
      guard found?.get("n") as? Int == plan.awaited else {
        throw BenchmarkFailure.lost(way.rawValue, "a write")
      }
      for client in [client, other] { try await client.terminate() }
      return [
        Figure(
          work: .write, value: median(times),
          processor: processor * 1000 / Double(plan.awaited))
      ]
    }

    /// Batches of a document, the client's newest number and an increment, of all clients at once, while they listen.
    func load(_ served: any ServedDocuments) async throws -> [Figure] {
      let memory = SystemFigures.anonymousMemory
      let ofServer = try served.memory()
      let clients = (0..<plan.clients).map { _ in served.client(.memory()) }
      let rooms = max(1, plan.listeners / plan.clients)
      var expected = [Int](repeating: 0, count: rooms)
      for index in 0..<plan.clients {
        for number in 1...plan.batches { expected[room(index, number, of: rooms)] += 1 }
      }
      let (ready, told) = (Goal(plan.clients * rooms), Goal(plan.clients * rooms))
      let listeners = clients.enumerated().flatMap { index, client in
        (0..<rooms).map { room in
          let (place, wanted) = (index * rooms + room, expected[room])
          let query = client.collection("rooms/r\(room)/items")
          return query.addSnapshotListener(includeMetadataChanges: true) { snapshot, error in
            if let error {
              ready.fail(error)
              return told.fail(error)
            }
            guard let snapshot, !snapshot.metadata.isFromCache else { return }
            ready.reach(place)
            if snapshot.documents.count >= wanted { told.reach(place) }
          }
        }
      }
      _ = try await ready.wait("the first events")
      let before = try served.processor()
      let watch = Watch()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (index, client) in clients.enumerated() {
          group.addTask { try await write(client, index, rooms) }
        }
        try await group.waitForAll()
      }
      let end = try await told.wait("what was written")
      let (wall, processor) = (watch.wall(until: end), try served.processor() - before)
      let (own, its) = (
        max(0, SystemFigures.anonymousMemory - memory), max(0, try served.memory() - ofServer)
      )
      let other = served.client(.memory())
      let counts = try await synced(other.collection("counts")).documents
      guard counts.count == plan.clients, counts.allSatisfy({ $0.get("n") as? Int == plan.batches })
      else { throw BenchmarkFailure.lost(way.rawValue, "an increment") }
      for listener in listeners { listener.remove() }
      for client in clients + [other] { try await client.terminate() }
      let scale = 1e6 / Double(plan.clients * plan.batches)
      let mebibyte = Double(1 << 20)
      var figures = [
        Figure(work: .load, value: wall * scale, processor: processor * scale),
        Figure(work: .memory, value: Double(own + its) / mebibyte, processor: nil),
      ]
      if way == .sockets {
        figures += [
          Figure(work: .memoryOfClients, value: Double(own) / mebibyte, processor: nil),
          Figure(work: .memoryOfServer, value: Double(its) / mebibyte, processor: nil),
        ]
      }
      return figures
    }

    /// What a query finds at the server.
    private func synced(_ query: Query) async throws -> QuerySnapshot {
      for try await snapshot in query.snapshots(includeMetadataChanges: true)
      where !snapshot.metadata.isFromCache { return snapshot }
      throw BenchmarkFailure.lost(way.rawValue, "a client")
    }

    private func room(_ client: Int, _ number: Int, of rooms: Int) -> Int {
      (client * plan.batches + number) % rooms
    }

    private func write(_ client: Firestore, _ index: Int, _ rooms: Int) async throws {
      var newest: WriteReceipt?
      for number in 1...plan.batches {
        let batch = client.batch()
        let room = room(index, number, of: rooms)
        batch.setData(
          ["n": number], forDocument: client.document("rooms/r\(room)/items/c\(index)-\(number)"))
        batch.setData(["n": number], forDocument: client.document("last/c\(index)"))
        batch.setData(
          ["n": FieldValue.increment(1)], forDocument: client.document("counts/c\(index)"),
          merge: true)
        newest = batch.enqueue()
        // An app that writes faster than it is answered, but not all at once.
        if number % 100 == 0 { try await newest?.acknowledged() }
      }
      try await newest?.acknowledged()
    }

    /// One document changes, and every listener has a query of its own that finds it.
    func fanOut(_ served: any ServedDocuments) async throws -> [Figure] {
      let clients = (0..<plan.clients).map { _ in served.client(.memory()) }
      let writer = served.client(.memory())
      let document = writer.document("rooms/r0")
      try await document.enqueue(.set(["n": 0])).acknowledged()
      let changes = 5
      let goals = (0...changes).map { _ in Goal(plan.listeners) }
      let listeners = (0..<plan.listeners).map { place in
        clients[place % clients.count].collection("rooms")
          .whereField("n", isGreaterThan: -1 - place)
          // What a client has cached for one query it shows to another first.
          .addSnapshotListener(includeMetadataChanges: true) { snapshot, error in
            if let error { return goals.forEach { $0.fail(error) } }
            guard let snapshot, !snapshot.metadata.isFromCache,
              let number = snapshot.documents.first?.get("n") as? Int, goals.indices ~= number
            else { return }
            goals[number].reach(place)
          }
      }
      _ = try await goals[0].wait("the first events")
      var times: [Sample] = []
      for number in 1...changes {
        let before = try served.processor()
        let watch = Watch()
        document.enqueue(.set(["n": number]))
        let end = try await goals[number].wait("a change")
        times.append(
          Sample(
            wall: watch.wall(until: end) * 1000,
            processor: (try served.processor() - before) * 1000))
      }
      for listener in listeners { listener.remove() }
      for client in clients + [writer] { try await client.terminate() }
      return [
        Figure(
          work: .fanOut, value: median(times.map(\.wall)),
          processor: median(times.map(\.processor)))
      ]
    }

    /// Writes wait until the client goes online.
    func drain(_ served: any ServedDocuments) async throws -> [Figure] {
      let client = served.client(.memory())
      try await client.disableNetwork()
      var newest: WriteReceipt?
      for number in 0..<plan.offline {
        newest = client.document("drafts/d\(number)").enqueue(.set(["n": number]))
      }
      _ = try await newest?.durable
      let before = try served.processor()
      let watch = Watch()
      try await client.enableNetwork()
      try await newest?.acknowledged()
      let (wall, processor) = (watch.sample.wall, try served.processor() - before)
      let other = served.client(.memory())
      guard try await synced(other.collection("drafts")).count == plan.offline else {
        throw BenchmarkFailure.lost(way.rawValue, "a write of the queue")
      }
      for client in [client, other] { try await client.terminate() }
      let scale = 1e6 / Double(plan.offline)
      return [Figure(work: .drain, value: wall * scale, processor: processor * scale)]
    }
  }
#endif
