import ConiferDocument
import ConiferDocumentServer
import Foundation
import TestSupport
import Testing

@testable import ConiferFirestore

@Suite("Databases of apps on a server")
struct ServerTests {
  @Test("What one app writes another one sees", arguments: EngineStore.allCases)
  func share(store: EngineStore) async throws {
    let world = try ServerWorld()
    let (anna, ben) = (try world.firestore(store), try world.firestore(store))
    let eros = ben.document("rooms/eros")
    async let seen = eros.first { $0.get("size") as? Int == 5 && !$0.metadata.isFromCache }
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
    let settled = try await own.first { !$0.metadata.hasPendingWrites && $0.get("at") is Timestamp }
    #expect(settled.get("at") as? Timestamp == time)
    #expect(try await own.getDocument(source: .server).data()?.count == 5)
    try await anna.terminate()
    try await ben.terminate()
  }

  @Test(
    "Offline writes wait, show, and are made once there is a network",
    arguments: EngineStore.allCases)
  func offline(store: EngineStore) async throws {
    let world = try ServerWorld()
    let (anna, ben) = (try world.firestore(store), try world.firestore())
    let own = anna.document("rooms/eros")
    try await own.setData(["n": 1])
    try await anna.disableNetwork()
    let receipt = own.enqueue(.update(["n": FieldValue.increment(1)]))
    let shown = try await own.first { $0.get("n") as? Int == 2 }
    #expect(shown.metadata.isFromCache && shown.metadata.hasPendingWrites)
    #expect(try await ben.document("rooms/eros").getDocument(source: .server).get("n") as? Int == 1)
    try await anna.enableNetwork()
    #expect(try await receipt.outcome == .acknowledged)
    try await anna.waitForPendingWrites()
    #expect(try await ben.document("rooms/eros").getDocument(source: .server).get("n") as? Int == 2)
    try await anna.terminate()
    try await ben.terminate()
  }

  @Test(
    "An app that comes back has what it had, and hears what it missed",
    arguments: EngineStore.durable)
  func restart(store: EngineStore) async throws {
    let world = try ServerWorld()
    let configuration = try world.configuration(store)
    let ben = try world.firestore()
    var anna = Firestore(configuration)
    let rooms = anna.collection("rooms").order(by: "n")
    for n in 1...3 { try await ben.document("rooms/r\(n)").setData(["n": n]) }
    _ = try await rooms.first { $0.count == 3 && !$0.metadata.isFromCache }
    try await anna.terminate()
    try await ben.document("rooms/r2").delete()
    try await ben.document("rooms/r4").setData(["n": 0])
    anna = Firestore(configuration)
    var kinds: [[DocumentChangeType]] = []
    // A sequence of snapshots may leave out the cached one when the server is quick.
    let (events, continuation) = AsyncStream.makeStream(of: QuerySnapshot.self)
    let listener = anna.collection("rooms").order(by: "n").addSnapshotListener(
      includeMetadataChanges: true
    ) { snapshot, _ in snapshot.map { _ = continuation.yield($0) } }
    for await snapshot in events {
      kinds.append(snapshot.documentChanges.map(\.type))
      if kinds.count == 1 {
        #expect(snapshot.documents.map(\.documentID) == ["r1", "r2", "r3"])
        #expect(snapshot.metadata.isFromCache && snapshot.metadata.wasEverComplete)
      }
      guard !snapshot.metadata.isFromCache else { continue }
      #expect(snapshot.documents.map(\.documentID) == ["r4", "r1", "r3"])
      break
    }
    #expect(
      Array(kinds.joined()).sorted { $0.rawValue < $1.rawValue } == [
        .added, .added, .added, .added, .removed,
      ])
    listener.remove()
    try await anna.terminate()
    try await ben.terminate()
  }

  @Test(
    "A write is made that is like one of unknown outcome, which was given up",
    arguments: EngineStore.allCases)
  func equal(store: EngineStore) async throws {
    let world = try ServerWorld()
    let link = DocumentLink(to: world.database, of: world.server)
    var configuration = try world.configuration(store)
    configuration.transport = link.transport
    let anna = Firestore(configuration)
    let counter = anna.document("rooms/counter")
    let path = try DocumentPath("rooms/counter")
    try await counter.setData(["n": 0])
    link.hold(.toClient)
    let first = counter.enqueue(.update(["n": FieldValue.increment(1)]))
    try await eventually("the server does not make the write") {
      try await world.server.document(path, in: world.database)?.fields["n"] == 1
    }
    try await anna.disableNetwork()
    link.release()
    let writes = try await anna.pendingWrites()
    guard case .outcomeUnknown? = writes.first?.state else {
      Issue.record("The answer came: \(writes)")
      return
    }
    try await anna.discard(try #require(try await first.id))
    let second = counter.enqueue(.update(["n": FieldValue.increment(1)]))
    try await anna.enableNetwork()
    #expect(try await second.outcome == .acknowledged)
    #expect(try await world.server.document(path, in: world.database)?.fields["n"] == 2)
    try await anna.terminate()
  }

  @Test("The server's refusal is thrown, told, and rolled back")
  func refusal() async throws {
    let world = try ServerWorld()
    let anna = try world.firestore()
    let none = anna.document("rooms/none")
    do {
      try await none.updateData(["n": 1])
      Issue.record("It was made.")
    } catch { #expect(error.code == .notFound) }
    #expect(try await anna.rejectedWrites().count == 1)
    let snapshot = try await none.getDocument()
    #expect(snapshot.presence == .missing && !snapshot.metadata.isFromCache)
    let batch = anna.batch()
    batch.setData(["n": 1], forDocument: anna.document("rooms/a"))
    batch.updateData(["n": 1], forDocument: none)
    await #expect(throws: FirestoreError.self) { try await batch.commit() }
    #expect(try await !anna.document("rooms/a").getDocument().exists)
    try await anna.terminate()
  }

  @Test("A listener that the server refuses is told once, and others go on")
  func permissions() async throws {
    let secrets = try CollectionPath("secrets")
    let access = DocumentAccess(allows: { _, request in
      guard case .list(let target) = request else { return true }
      return target.source != .collection(secrets)
    })
    let world = try ServerWorld(DocumentServerConfiguration(access: access))
    let anna = try world.firestore()
    let told = Told<QuerySnapshot>()
    anna.collection("secrets").addSnapshotListener(told.add)
    do {
      for try await _ in anna.collection("secrets").snapshots {}
      Issue.record("The sequence ended without an error.")
    } catch { #expect(error.code == .permissionDenied) }
    do throws(FirestoreError) {
      _ = try await anna.collection("secrets").getDocuments()
      Issue.record("The query was answered.")
    } catch { #expect(error.code == .permissionDenied) }
    try await anna.document("rooms/eros").setData(["n": 1])
    let rooms = try await anna.collection("rooms").first { !$0.metadata.isFromCache }
    #expect(rooms.count == 1)
    #expect(told.codes == [.permissionDenied] && told.values.isEmpty)
    try await anna.terminate()
  }

  @Test(
    "Users have queues of their own; who signs in is shown theirs", arguments: EngineStore.allCases)
  func users(store: EngineStore) async throws {
    let world = try ServerWorld()
    var configuration = try world.configuration(store)
    let signIn = EngineSignIn()
    signIn.set(.user("anna"))
    configuration.tokenProvider = signIn
    let firestore = Firestore(configuration)
    try await firestore.disableNetwork()
    let room = firestore.document("rooms/eros")
    let receipt = room.enqueue(.set(["by": "anna"]))
    #expect(try await receipt.id?.identity == "anna")
    signIn.set(.user("ben"))
    firestore.tokenDidChange()
    #expect(try await firestore.pendingWrites().isEmpty)
    await #expect(throws: FirestoreError.self) { try await room.getDocument(source: .cache) }
    signIn.set(.user("anna"))
    firestore.tokenDidChange()
    let shown = try await room.first { $0.exists }
    #expect(shown.get("by") as? String == "anna" && shown.metadata.hasPendingWrites)
    try await firestore.enableNetwork()
    #expect(try await receipt.outcome == .acknowledged)
    try await firestore.terminate()
  }

  @Test("Transactions of two apps lose no increment")
  func transactions() async throws {
    let world = try ServerWorld()
    // The pauses between attempts grow to a minute while the apps meet again and again. No listener minds that both
    // count as offline then.
    let apps = try (0..<2).map { _ in
      try world.firestore(.memory, PatientClock(longWait: 61_000))
    }
    try await apps[0].document("rooms/eros").setData(["n": 0])
    let options = UncheckedOptions(maxAttempts: 100)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for app in apps {
        group.addTask {
          for _ in 0..<5 {
            let eros = app.document("rooms/eros")
            try await app.runTransaction(options: options.value) { transaction in
              let n = try await transaction.getDocument(eros).get("n") as? Int ?? 0
              transaction.updateData(["n": n + 1], forDocument: eros)
            }
          }
        }
      }
      try await group.waitForAll()
    }
    let eros = try await world.server.document(DocumentPath("rooms/eros"), in: world.database)
    #expect(eros?.fields["n"] == 10)
    for app in apps { try await app.terminate() }
  }

  private struct UncheckedOptions: Sendable {
    let maxAttempts: Int
    var value: TransactionOptions {
      let options = TransactionOptions()
      options.maxAttempts = maxAttempts
      return options
    }
  }

  @Test(
    "Conditions, orders, ranges and limits find the same on the server and here",
    arguments: EngineStore.allCases)
  func queries(store: EngineStore) async throws {
    let world = try ServerWorld()
    let anna = try world.firestore(store)
    let rooms = anna.collection("rooms")
    let batch = anna.batch()
    let sizes: [Any] = [1, 2, 2.5, 4, Double.nan, NSNull(), "x"]
    for (index, size) in sizes.enumerated() {
      batch.setData(
        [
          "size": size, "n": index, "tags": ["t\(index % 2)", index], "a.b": index,
          "m": ["k": index],
        ],
        forDocument: rooms.document("r\(index)"))
    }
    batch.setData(["other": 1], forDocument: rooms.document("z"))
    batch.setData(["n": 1], forDocument: anna.document("houses/h/rooms/deep"))
    try await batch.commit()
    let id = FieldPath.documentID()
    let first = try await rooms.document("r2").getDocument()
    let cases: [(Query, [String])] = [
      (rooms, ["r0", "r1", "r2", "r3", "r4", "r5", "r6", "z"]),
      (rooms.whereField("size", isEqualTo: 2), ["r1"]),
      (rooms.whereField("size", isEqualTo: 2.0), ["r1"]),
      (rooms.whereField("size", isNotEqualTo: 2), ["r4", "r0", "r2", "r3", "r6"]),
      (rooms.whereField("size", isGreaterThan: 1), ["r1", "r2", "r3"]),
      (rooms.whereField("size", isGreaterThanOrEqualTo: 2.5), ["r2", "r3"]),
      (rooms.whereField("size", isLessThan: 2.5), ["r4", "r0", "r1"]),
      (rooms.whereField("size", isLessThanOrEqualTo: 2), ["r4", "r0", "r1"]),
      (rooms.whereField("size", isEqualTo: NSNull()), ["r5"]),
      (rooms.whereField("size", isEqualTo: Double.nan), ["r4"]),
      (rooms.whereField("size", in: [1, "x", 4.0]), ["r0", "r3", "r6"]),
      (rooms.whereField("size", notIn: [1, 2, 2.5, 4]), ["r4", "r6"]),
      (rooms.whereField("tags", arrayContains: "t1"), ["r1", "r3", "r5"]),
      (rooms.whereField("tags", arrayContainsAny: [0, 3.0]), ["r0", "r3"]),
      (rooms.whereField(FieldPath(["a.b"]), isEqualTo: 3), ["r3"]),
      (rooms.whereField("m.k", isGreaterThan: 4), ["r5", "r6"]),
      (rooms.whereField(id, isGreaterThan: "r4"), ["r5", "r6", "z"]),
      (rooms.whereField(id, in: ["r1", "z", "none"]), ["r1", "z"]),
      (rooms.order(by: "n", descending: true).limit(to: 2), ["r6", "r5"]),
      (rooms.order(by: "n").limit(toLast: 2), ["r5", "r6"]),
      (rooms.order(by: "n").start(at: [2]).end(before: [5]), ["r2", "r3", "r4"]),
      (rooms.order(by: "n").start(after: [2]).end(at: [4]), ["r3", "r4"]),
      (rooms.order(by: "n").start(atDocument: first).limit(to: 2), ["r2", "r3"]),
      (rooms.order(by: "n", descending: true).start(afterDocument: first), ["r1", "r0"]),
      (rooms.order(by: id).end(beforeDocument: first), ["r0", "r1"]),
      (rooms.order(by: "size").end(atDocument: first), ["r5", "r4", "r0", "r1", "r2"]),
      (
        rooms.whereFilter(
          .orFilter([
            .whereField("n", isGreaterThan: 5),
            .andFilter([
              .whereField("size", isLessThan: 3), .whereField("tags", arrayContains: "t0"),
            ]),
          ])), ["r0", "r2", "r4", "r6"]
      ),
      (
        rooms.whereFilter(
          .orFilter([.whereField("n", isEqualTo: 6), .whereField("size", isEqualTo: 1)])),
        ["r0", "r6"]
      ),
      (
        rooms.whereField("n", isGreaterThan: 0).whereField("size", isLessThan: 3).order(by: "size"),
        ["r4", "r1", "r2"]
      ),
      (anna.collectionGroup("rooms").whereField("n", isEqualTo: 1), ["deep", "r1"]),
    ]
    for (query, ids) in cases {
      let server = try await query.ids
      let here = try await query.getDocuments(source: .cache).documents.map(\.documentID)
      #expect(server == ids, "\(query)")
      #expect(here == server, "\(query)")
      #expect(
        try await query.count.getAggregation(source: .server).count.intValue == server.count,
        "\(query)")
      #expect(
        try await query.count.getAggregation(source: .cache).count.intValue == server.count,
        "\(query)")
    }
    try await anna.terminate()
  }

  @Test("Numbers of the server and of what is here agree")
  func aggregates() async throws {
    let world = try ServerWorld()
    let anna = try world.firestore()
    let rooms = anna.collection("rooms")
    for (index, size) in ([1, 2.5, "x", Int64.max] as [Any]).enumerated() {
      try await rooms.document("r\(index)").setData(["size": size, "n": index])
    }
    let query = rooms.whereField("n", isLessThan: 3)
      .aggregate([.count(), .sum("size"), .average("size"), .sum("n")])
    for source in [AggregateSource.server, .cache] {
      let answer = try await query.getAggregation(source: source)
      #expect(answer.count == 3, "\(source)")
      #expect(answer.get(.sum("size")) as? Double == 3.5)
      #expect(answer.get(.average("size")) as? Double == 1.75)
      #expect(answer.get(.sum("n")) as? Int == 3)
      #expect(answer.isFromCache == (source == .cache))
    }
    try await anna.terminate()
  }

  struct Message: Codable, Equatable, Sendable {
    @DocumentID var id: String?
    var text: String
    var owner: DocumentReference
    @ServerTimestamp var sent: Date?
    @ExplicitNull var reply: String?
  }

  @Test("Types go to the server and come to others")
  func coding() async throws {
    let world = try ServerWorld()
    let (anna, ben) = (try world.firestore(), try world.firestore())
    let message = Message(text: "hi", owner: anna.document("people/anna"))
    let added = try anna.collection("messages").addDocument(from: message)
    let snapshot = try await ben.document(added.path).first { $0.exists }
    let read = try snapshot.data(as: Message.self)
    #expect(read.id == added.documentID && read.text == "hi" && read.reply == nil)
    #expect(read.owner == ben.document("people/anna"))
    #expect(abs(try #require(read.sent).timeIntervalSinceNow) < 3600)
    #expect(snapshot.get("reply") is NSNull)
    try await anna.terminate()
    try await ben.terminate()
  }

  @Test(
    "Merges, deletions of fields and empty maps are as on the server",
    arguments: EngineStore.allCases)
  func merges(store: EngineStore) async throws {
    let world = try ServerWorld()
    let anna = try world.firestore(store)
    let eros = anna.document("rooms/eros")
    try await eros.setData(["a": ["b": 1, "c": 2], "d": [1], "e": 3])
    try await eros.setData(
      ["a": ["b": 5, "x": [String: Any]()], "e": FieldValue.delete()], merge: true)
    try await eros.setData(["a": ["c": 9], "d": 7, "f": 8], mergeFields: ["a.c", "f"])
    try await eros.updateData(["a.b": FieldValue.delete(), FieldPath(["g.h"]): 1])
    let expected: NSDictionary = ["a": ["c": 9, "x": [:]], "d": [1], "f": 8, "g.h": 1]
    for source in [FirestoreSource.server, .cache] {
      let data = try await eros.getDocument(source: source).data() ?? [:]
      #expect(NSDictionary(dictionary: data) == expected, "\(source)")
    }
    try await eros.setData(["only": 1])
    #expect(try await eros.getDocument(source: .cache).data()?.count == 1)
    try await eros.delete()
    #expect(try await eros.getDocument(source: .cache).presence == .missing)
    #expect(try await eros.getDocument(source: .server).presence == .missing)
    try await anna.terminate()
  }
}
