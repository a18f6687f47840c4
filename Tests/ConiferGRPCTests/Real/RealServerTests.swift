#if GRPC
  import struct ConiferDocument.DatabaseID
  import struct ConiferDocument.DocumentPath
  import struct ConiferDocument.MapValue
  import struct ConiferDocument.Mutation
  import ConiferEngine
  import ConiferFirestore
  import ConiferSQLite
  import ConiferStorage
  import ConiferWire
  import Foundation
  import TestSupport
  import Testing

  @testable import ConiferGRPC

  @Suite("Clients of real servers", .timeLimit(.minutes(10)))
  struct RealServerTests {
    let database = Emulator.database()

    @Test("What one client writes another one sees", arguments: RealServer.installed)
    func share(_ server: RealServer) async throws {
      let (anna, ben) = (
        try await RealApp(on: server, database).db, try await RealApp(on: server, database).db
      )
      async let seen = ben.document("rooms/eros").first {
        $0.get("size") as? Int == 5 && !$0.metadata.isFromCache
      }
      let own = anna.document("rooms/eros")
      try await own.setData(["size": 3, "at": FieldValue.serverTimestamp(), "tags": ["a"]])
      try await own.updateData([
        "size": FieldValue.increment(2), "tags": FieldValue.arrayUnion(["a", "b"]),
        "least": FieldValue.minimum(4), "most": FieldValue.maximum(2.5),
      ])
      let snapshot = try await seen
      #expect(snapshot.get("tags") as? [String] == ["a", "b"])
      #expect(snapshot.get("least") as? Int == 4 && snapshot.get("most") as? Double == 2.5)
      let time = try #require(snapshot.get("at") as? Timestamp)
      let settled = try await own.first {
        !$0.metadata.hasPendingWrites && $0.get("at") is Timestamp
      }
      #expect(settled.get("at") as? Timestamp == time)
      try await own.updateData([
        "tags": FieldValue.arrayRemove(["a"]), "least": FieldValue.delete(),
      ])
      let last = try await ben.document("rooms/eros").getDocument(source: .server)
      #expect(last.get("tags") as? [String] == ["b"] && last.get("least") == nil)
      try await own.delete()
      #expect(try await !ben.document("rooms/eros").getDocument(source: .server).exists)
      try await anna.terminate()
      try await ben.terminate()
    }

    @Test(
      "A batch is made whole or not at all, and a refusal is told", arguments: RealServer.installed)
    func batches(_ server: RealServer) async throws {
      let app = try await RealApp(on: server, database)
      let db = app.db
      let batch = db.batch()
      for n in 0..<300 { batch.setData(["n": n], forDocument: db.document("rooms/r\(n)")) }
      try await batch.commit()
      let all = try await db.collection("rooms").getDocuments(source: .server)
      #expect(all.count == 300)
      let wrong = db.batch()
      wrong.setData(["n": 1], forDocument: db.document("halls/a"))
      wrong.updateData(["n": 1], forDocument: db.document("halls/none"))
      do {
        try await wrong.commit()
        Issue.record("It was made.")
      } catch { #expect(error.code == .notFound) }
      #expect(try await !db.document("halls/a").getDocument(source: .server).exists)
      #expect(try await db.rejectedWrites().count == 1)
      try await db.document("halls/b").setData(["n": 2])
      #expect(try await db.document("halls/b").getDocument(source: .server).exists)
      try await db.terminate()
    }

    /// The emulator goes on with no query: it resets each target that has a token, and sends all. The service sends what
    /// changed, as the scripted server and Conifer's do. Listeners hear the same of both. This fails when the emulator no longer
    /// does so.
    @Test(
      "After a break listeners are told what changed, and nothing twice",
      arguments: RealServer.installed)
    func resume(_ server: RealServer) async throws {
      let reader = try await RealApp(on: server, database)
      let writer = try await RealApp(on: server, database).db
      for n in 0..<20 { try await writer.document("rooms/r\(n)").setData(["n": n]) }
      let snapshots = Mailbox<QuerySnapshot>()
      let listener = reader.db.collection("rooms").order(by: "n")
        .addSnapshotListener(includeMetadataChanges: true) { snapshot, _ in
          if let snapshot { snapshots.put(snapshot) }
        }
      func wait(_ isWanted: (QuerySnapshot) -> Bool) async throws -> QuerySnapshot {
        while let snapshot = await snapshots.next() {
          if isWanted(snapshot) { return snapshot }
        }
        throw Ended()
      }
      _ = try await wait { $0.isSynced && $0.count == 20 }
      try await reader.db.disableNetwork()
      _ = try await wait { !$0.isSynced }
      try await reader.db.enableNetwork()
      let again = try await wait { $0.isSynced }
      #expect(again.count == 20 && again.documentChanges.isEmpty)
      let target = try #require(reader.log.all.targets.last)
      #expect(!target.resumeToken.isEmpty && target.expectedCount == 20)
      let before = reader.log.all
      #expect(before.resets == (server == .emulator ? [target.id] : []))
      #expect(before.documents.count == (server == .emulator ? 40 : 20))
      try await reader.db.disableNetwork()
      _ = try await wait { !$0.isSynced }
      try await writer.document("rooms/r5").updateData(["n": 100])
      try await writer.document("rooms/new").setData(["n": 50])
      try await writer.document("rooms/r7").delete()
      try await reader.db.enableNetwork()
      var changes: [String] = []
      while true {
        let snapshot = try await wait { _ in true }
        changes += snapshot.documentChanges.map { "\($0.type) \($0.document.documentID)" }
        if snapshot.isSynced, snapshot.ids.suffix(2) == ["new", "r5"], snapshot.count == 20 {
          break
        }
      }
      #expect(Set(changes) == ["added new", "modified r5", "removed r7"])
      #expect(changes.count == 3)
      let sent = reader.log.all.documents.dropFirst(before.documents.count)
      if server == .emulator {
        #expect(reader.log.all.resets == [target.id, target.id])
        // The one that was deleted is said by itself, as the client asks for it.
        #expect(sent.filter { $0 != "rooms/r7" }.count == 20, "\(sent)")
      } else {
        #expect(reader.log.all.resets.isEmpty)
        #expect(sent.sorted() == ["rooms/new", "rooms/r5", "rooms/r7"])
      }
      listener.remove()
      try await reader.db.terminate()
      try await writer.terminate()
    }

    @Test("What was deleted while the client was away is gone", arguments: RealServer.installed)
    func deletions(_ server: RealServer) async throws {
      let reader = try await RealApp(on: server, database)
      let writer = try await RealApp(on: server, database).db
      for n in 0..<10 { try await writer.document("rooms/r\(n)").setData(["n": n]) }
      let rooms = reader.db.collection("rooms").whereField("n", isGreaterThan: 4)
      let listener = rooms.addSnapshotListener { _, _ in }
      let first = try await rooms.first { $0.isSynced }
      #expect(first.ids == ["r5", "r6", "r7", "r8", "r9"])
      try await reader.db.disableNetwork()
      try await writer.document("rooms/r6").delete()
      try await writer.document("rooms/r7").updateData(["n": 1])
      try await reader.db.enableNetwork()
      let last = try await rooms.first { $0.isSynced && $0.count == 3 }
      #expect(last.ids == ["r5", "r8", "r9"])
      let target = try #require(reader.log.all.targets.last { $0.expectedCount == 5 })
      #expect(!target.resumeToken.isEmpty)
      // The emulator sends no filter of names, as it goes on with nothing; nor does a server that knows what was deleted.
      #expect(reader.log.all.filters == 0)
      #expect(reader.log.all.resets == (server == .emulator ? [target.id] : []))
      #expect(try await !reader.db.document("rooms/r6").getDocument(source: .server).exists)
      listener.remove()
      try await reader.db.terminate()
      try await writer.terminate()
    }

    @Test(
      "A document that a limited query loses is asked for by itself",
      arguments: RealServer.installed)
    func limbo(_ server: RealServer) async throws {
      let reader = try await RealApp(on: server, database)
      let writer = try await RealApp(on: server, database).db
      for n in 1...4 { try await writer.document("rooms/r\(n)").setData(["n": n, "open": true]) }
      let two = reader.db.collection("rooms").order(by: "n").limit(to: 2)
      let listener = two.addSnapshotListener { _, _ in }
      #expect(try await two.first { $0.isSynced }.ids == ["r1", "r2"])
      // The reader keeps what it read of r3 and r4, and knows no longer what became of them.
      let all = try await reader.db.collection("rooms").getDocuments(source: .server)
      #expect(all.count == 4)
      try await reader.db.disableNetwork()
      try await writer.document("rooms/r3").updateData(["n": 9])
      try await writer.document("rooms/r1").delete()
      try await reader.db.enableNetwork()
      let last = try await two.first { $0.isSynced && !$0.ids.contains("r1") }
      #expect(last.ids == ["r2", "r4"])
      listener.remove()
      try await reader.db.terminate()
      try await writer.terminate()
    }

    @Test(
      "A document in limbo is asked for with the label, and resolved",
      arguments: RealServer.installed)
    func limboTarget(_ server: RealServer) async throws {
      let app = try await RealApp(on: server, database)
      let db = app.db
      let writer = try await RealApp(on: server, database).db
      try await writer.document("rooms/a").setData(["n": 1])
      // Read by itself, so that no query says when it leaves.
      #expect(try await db.document("rooms/a").getDocument(source: .server).exists)
      try await db.disableNetwork()
      try await writer.document("rooms/a").updateData(["n": 2])
      try await db.enableNetwork()
      let ones = db.collection("rooms").whereField("n", isEqualTo: 1)
      let snapshot = try await ones.first { $0.isSynced }
      #expect(snapshot.isEmpty)
      let limbo = app.log.all.targets.filter { $0.purpose == .limboResolution }
      #expect(limbo.map { "\($0.document?.description ?? "")" } == ["rooms/a"])
      try await db.terminate()
      try await writer.terminate()
    }

    @Test("Transactions of eight clients lose no increment", arguments: RealServer.installed)
    func contention(_ server: RealServer) async throws {
      let (clients, each) = (8, 125)
      let writer = try await RealApp(on: server, database).db
      try await writer.document("counters/n").setData(["n": 0])
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<clients {
          // What lost is tried again at once, however often it has lost.
          let clock = PatientClock(longWait: .max)
          let db = try await RealApp(on: server, database, clock: clock).db
          group.addTask {
            let options = TransactionOptions()
            options.maxAttempts = 10_000
            for _ in 0..<each {
              try await db.runTransaction(options: options) { transaction in
                let counter = db.document("counters/n")
                let n = try await transaction.getDocument(counter).get("n") as? Int ?? 0
                transaction.updateData(["n": n + 1], forDocument: counter)
              }
            }
            try await db.terminate()
          }
        }
        try await group.waitForAll()
      }
      let counter = try await writer.document("counters/n").getDocument(source: .server)
      #expect(counter.get("n") as? Int == clients * each)
      try await writer.terminate()
    }

    @Test(
      "A transaction that reads and does not write checks what it read, and its refusals are told",
      arguments: RealServer.installed)
    func transactions(_ server: RealServer) async throws {
      let db = try await RealApp(on: server, database).db
      try await db.document("rooms/a").setData(["n": 1])
      let copied = try await db.runTransaction { transaction in
        let n = try await transaction.getDocument(db.document("rooms/a")).get("n") as? Int ?? 0
        let other = try await transaction.getDocument(db.document("rooms/none"))
        #expect(!other.exists)
        transaction.setData(["copy": n], forDocument: db.document("rooms/b"))
        return n
      }
      #expect(copied == 1)
      #expect(
        try await db.document("rooms/b").getDocument(source: .server).get("copy") as? Int == 1)
      try await db.terminate()
    }

    @Test(
      "Writes made offline are made after a restart, in their order",
      arguments: RealServer.installed)
    func queue(_ server: RealServer) async throws {
      let scratch = try Scratch()
      let storage = StorageConfiguration.sqlite(at: scratch.store)
      let first = try await RealApp(on: server, database, storage: storage)
      try await first.db.document("rooms/a").setData(["n": 0])
      try await first.db.disableNetwork()
      var receipts: [WriteReceipt] = []
      for n in 1...50 {
        receipts.append(first.db.document("rooms/a").enqueue(.update(["n": n, "n\(n % 7)": n])))
        receipts.append(first.db.document("rooms/b\(n)").enqueue(.set(["n": n])))
      }
      for receipt in receipts { _ = try await receipt.durable }
      try await first.db.terminate()
      let second = try await RealApp(on: server, database, storage: storage)
      try await second.db.waitForPendingWrites()
      let other = try await RealApp(on: server, database).db
      let a = try await other.document("rooms/a").getDocument(source: .server)
      #expect(a.get("n") as? Int == 50 && a.data()?.count == 8)
      #expect(try await other.collection("rooms").getDocuments(source: .server).count == 51)
      try await second.db.terminate()
      try await other.terminate()
    }

    @Test("Aggregates are those of the server", arguments: RealServer.installed)
    func aggregates(_ server: RealServer) async throws {
      let db = try await RealApp(on: server, database).db
      let batch = db.batch()
      for n in 1...10 {
        batch.setData(["n": n, "d": 0.5], forDocument: db.document("rooms/r\(n)"))
      }
      batch.setData(["other": 1], forDocument: db.document("rooms/none"))
      try await batch.commit()
      let rooms = db.collection("rooms").whereField("n", isGreaterThan: 2)
      let numbers = try await rooms.aggregate([.count(), .sum("n"), .average("n"), .sum("d")])
        .getAggregation(source: .server)
      #expect(numbers.get(.count()) as? Int == 8)
      #expect(numbers.get(.sum("n")) as? Int == 52)
      #expect(numbers.get(.average("n")) as? Double == 6.5)
      #expect(numbers.get(.sum("d")) as? Double == 4)
      let all = try await db.collection("rooms").aggregate([.count()])
        .getAggregation(source: .server)
      #expect(all.get(.count()) as? Int == 11)
      let none = try await db.collection("empty").aggregate([.sum("n"), .average("n"), .count()])
        .getAggregation(source: .server)
      #expect(none.get(.sum("n")) as? Int == 0 && none.get(.count()) as? Int == 0)
      let last = try await db.collection("rooms").order(by: "n").limit(toLast: 3)
        .aggregate([.sum("n")]).getAggregation(source: .server)
      #expect(last.get(.sum("n")) as? Int == 27)
      try await db.terminate()
    }

    @Test(
      "A group's query finds documents wherever they are, and a collection's only its own",
      arguments: RealServer.installed)
    func groups(_ server: RealServer) async throws {
      let db = try await RealApp(on: server, database).db
      let batch = db.batch()
      for (n, path) in ["rooms/a", "houses/x/rooms/b", "houses/y/rooms/c", "houses/x/doors/d"]
        .enumerated()
      { batch.setData(["n": n], forDocument: db.document(path)) }
      try await batch.commit()
      let group = try await db.collectionGroup("rooms").order(by: "n").getDocuments(source: .server)
      #expect(
        group.documents.map(\.reference.path) == [
          "rooms/a", "houses/x/rooms/b", "houses/y/rooms/c",
        ])
      let below = try await db.document("houses/x").collection("rooms").getDocuments(
        source: .server)
      #expect(below.ids == ["b"])
      #expect(try await db.collection("rooms").getDocuments(source: .server).ids == ["a"])
      try await db.terminate()
    }

    @Test(
      "Large documents and ids of any script arrive as they are", arguments: RealServer.installed)
    func content(_ server: RealServer) async throws {
      let (anna, ben) = (
        try await RealApp(on: server, database).db, try await RealApp(on: server, database).db
      )
      let large = String(repeating: "0123456789", count: 100_000)
      try await anna.document("rooms/large").setData([
        "text": large, "bytes": Data(repeating: 0xFF, count: 20_000),
      ])
      let read = try await ben.document("rooms/large").getDocument(source: .server)
      #expect(read.get("text") as? String == large)
      #expect(read.get("bytes") as? Data == Data(repeating: 0xFF, count: 20_000))
      // The last two are one text for Swift, and two for the service.
      let ids = ["zimmer-ä", "部屋", "комната", "🏠🏡", "a b.c~d`e", "e\u{301}", "\u{e9}"]
      for (n, id) in ids.enumerated() {
        try await anna.collection("unicode").document(id).setData(["n": n, id: id])
      }
      let all = try await ben.collection("unicode").order(by: "n").getDocuments(source: .server)
      #expect(all.documents.map { Array($0.documentID.utf8) } == ids.map { Array($0.utf8) })
      for (document, id) in zip(all.documents, ids) {
        #expect(document.get(FieldPath([id])) as? String == id)
      }
      try await anna.terminate()
      try await ben.terminate()
    }

    @Test("Values of all types come back as they were written", arguments: RealServer.installed)
    func values(_ server: RealServer) async throws {
      let (anna, ben) = (
        try await RealApp(on: server, database).db, try await RealApp(on: server, database).db
      )
      let time = Timestamp(seconds: 1_700_000_000, nanoseconds: 123_456_000)
      let data: [String: Any] = [
        "null": NSNull(), "yes": true, "int": Int64.min, "double": 1e300, "nan": Double.nan,
        "time": time, "text": "", "bytes": Data([0, 255]),
        "place": GeoPoint(latitude: -33.5, longitude: 151.25),
        "reference": anna.document("rooms/a"), "array": [1, "a", ["x": [2.5]]] as [Any],
        "map": ["a.b": ["`": 1], "": 2] as [String: Any],
        "vector": FieldValue.vector([1, 2.5]),
      ]
      let own = anna.document("values/v")
      var written = data
      written["map"] = ["a.b": ["`": 1]]
      try await own.setData(written)
      let read = try await ben.document("values/v").getDocument(source: .server)
      #expect(read.get("null") is NSNull && read.get("yes") as? Bool == true)
      #expect(read.get("int") as? Int64 == .min && read.get("double") as? Double == 1e300)
      #expect((read.get("nan") as? Double)?.isNaN == true)
      #expect(read.get("time") as? Timestamp == time)
      #expect(read.get("text") as? String == "" && read.get("bytes") as? Data == Data([0, 255]))
      #expect((read.get("place") as? GeoPoint)?.longitude == 151.25)
      #expect((read.get("reference") as? DocumentReference)?.path == "rooms/a")
      #expect(((read.get("array") as? [Any])?.last as? [String: Any])?["x"] as? [Double] == [2.5])
      #expect(read.get(FieldPath(["map", "a.b", "`"])) as? Int == 1)
      #expect((read.get("vector") as? VectorValue)?.array == [1, 2.5])
      try await anna.terminate()
      try await ben.terminate()
    }

    /// So no server sends one; the client would leave it as the map that it is.
    @Test("A vector with integers is refused by the emulator", .enabled(if: Emulator.isInstalled))
    func integerVector() async throws {
      let base = try service(await Emulator.shared().port, database)
      let vector: MapValue = ["__type__": "__vector__", "value": [1, 2]]
      let write = Mutation(try DocumentPath("values/v"), .set(["v": .map(vector)], []))
      let error = await #expect(throws: StatusError.self) {
        try await base.commit([write], token: nil)
      }
      #expect(error?.code == .invalidArgument && error?.message.contains("double") == true)
    }

    @Test("The app's call leads to the server", arguments: RealServer.installed)
    func useEmulator(_ server: RealServer) async throws {
      var configuration = FirestoreConfiguration.grpc(
        projectID: database.project, storage: .memory())
      configuration.clock = PatientClock()
      configuration.housekeeping = .off
      let db = Firestore(configuration)
      db.useEmulator(withHost: "localhost", port: try await server.port())
      try await db.document("rooms/a").setData(["n": 1])
      #expect(try await db.document("rooms/a").getDocument(source: .server).get("n") as? Int == 1)
      try await db.terminate()
    }
  }
#endif
