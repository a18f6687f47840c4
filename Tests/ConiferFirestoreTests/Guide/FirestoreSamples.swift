import ConiferFirestore
import ConiferSQLite
import ConiferStorage
import ConiferWire
import Foundation

/// The code of Docs/Firestore.md.
enum FirestoreSamples {
  static func open(_ storage: StorageConfiguration, _ transport: DocumentTransport?) -> Firestore {
    var configuration = FirestoreConfiguration(
      projectID: "my-app", storage: storage, transport: transport)
    configuration.tokenProvider = SignIn()
    configuration.cacheSizeBytes = 50 << 20
    let db = Firestore(configuration)
    return db
  }

  static func readme(
    _ directory: String, _ transport: DocumentTransport?,
    _ show: @escaping @Sendable (String) -> Void
  ) async throws -> any ListenerRegistration {
    let db = Firestore(
      FirestoreConfiguration(
        projectID: "my-app", storage: .sqlite(at: directory), transport: transport))
    let rooms = db.collection("rooms").whereField("open", isEqualTo: true)
    let listener = rooms.addSnapshotListener { snapshot, error in
      for room in snapshot?.documents ?? [] { show(room.get("name") as? String ?? "no name") }
    }
    let receipt = db.document("rooms/eros").enqueue(.set(["name": "Eros", "open": true]))
    show("queued, \(try await receipt.durable)")
    try await receipt.acknowledged()
    return listener
  }

  static func background(
    _ db: Firestore, _ deadline: Date, _ scheduleUpload: () -> Void
  ) async throws {
    let left = try await db.drain(until: deadline)
    if left.pending > 0 { scheduleUpload() }
    try await db.suspend()
  }

  static func shared(_ configuration: FirestoreConfiguration) -> CollectionReference {
    Firestore.configure(configuration)
    let rooms = Firestore.firestore().collection("rooms")
    return rooms
  }

  struct SignIn: TokenProvider {
    func token(forcingRefresh: Bool) async throws -> AuthToken? { nil }
  }

  static func write(_ db: Firestore, _ show: @escaping (String) -> Void) {
    let eros = db.collection("rooms").document("eros")
    eros.setData(["name": "Eros", "size": 3, "address": ["floor": 2]])
    eros.setData(["open": true], merge: true)
    eros.updateData([
      "address.floor": 3, "size": FieldValue.increment(1),
      "tags": FieldValue.arrayUnion(["quiet"]), "edited": FieldValue.serverTimestamp(),
    ]) { error in
      show(error?.localizedDescription ?? "saved")
    }
  }

  static func writeAndWait(_ db: Firestore) async throws -> WriteReceipt {
    let eros = db.document("rooms/eros")
    try await eros.updateData(["size": 5])
    let receipt = eros.enqueue(.update(["floor": 3]))
    return receipt
  }

  static func batch(_ db: Firestore) -> WriteReceipt {
    let batch = db.batch()
    batch.setData(["name": "Zeus"], forDocument: db.document("rooms/zeus"))
    batch.updateData(["next": "zeus"], forDocument: db.document("rooms/eros"))
    batch.deleteDocument(db.document("rooms/old"))
    return batch.commit()
  }

  static func listen(_ db: Firestore, _ show: @escaping (String) -> Void)
    -> any ListenerRegistration
  {
    let open = db.collection("rooms").whereField("open", isEqualTo: true).order(by: "size")
    let listener = open.addSnapshotListener { snapshot, error in
      guard let snapshot else { return show(error?.localizedDescription ?? "") }
      for change in snapshot.documentChanges where change.type == .added {
        show("\(change.document.documentID) at \(change.newIndex)")
      }
    }
    return listener
  }

  static func sequences(_ db: Firestore, _ show: (QuerySnapshot) -> Bool) async throws {
    for try await snapshot in db.collection("rooms").order(by: "size").snapshots {
      if !show(snapshot) { break }
    }
  }

  static func freshness(_ snapshot: QuerySnapshot) -> String {
    if !snapshot.metadata.isFromCache { return "up to date" }
    guard snapshot.metadata.wasEverComplete, let time = snapshot.metadata.serverTime else {
      return "what this device happens to have"
    }
    return "as of \(time.dateValue().formatted(.iso8601))"
  }

  static func presence(_ room: DocumentReference) async throws -> String {
    switch try await room.getDocument(source: .cache).presence {
    case .found: "there"
    case .missing: "deleted, as far as the server has told"
    case .unseen, .unknown: "never read on this device"
    }
  }

  static func query(_ db: Firestore) -> Query {
    let large = db.collectionGroup("rooms")
      .whereFilter(
        .orFilter([
          .whereField("size", isGreaterThan: 5), .whereField("tags", arrayContains: "hall"),
        ])
      )
      .order(by: "size", descending: true).limit(to: 10)
    return large
  }

  static func once(_ db: Firestore) async throws -> (String?, Int) {
    let room = try await db.document("rooms/eros").getDocument(source: .cache)
    let name = room.get("name") as? String
    let open = try await db.collection("rooms").whereField("open", isEqualTo: true).getDocuments()
    return (name, open.count)
  }

  static func aggregate(_ db: Firestore) async throws -> Double? {
    let sizes = db.collection("rooms").aggregate([.count(), .sum("size"), .average("size")])
    let here = try await sizes.getAggregation(source: .cache)
    let average = here.get(.average("size")) as? Double
    return here.isFromCache ? average : nil
  }

  static func transaction(_ db: Firestore) async throws -> Int {
    let eros = db.document("rooms/eros")
    let size = try await db.runTransaction { transaction in
      let room = try await transaction.getDocument(eros)
      let size = (room.get("size") as? Int ?? 0) + 1
      transaction.updateData(["size": size], forDocument: eros)
      return size
    }
    return size
  }

  struct Room: Codable, Equatable {
    @DocumentID var id: String?
    var name: String
    var size: Int
    @ServerTimestamp var built: Date?
  }

  static func coding(_ db: Firestore) async throws -> [Room] {
    let rooms = db.collection("rooms")
    try rooms.addDocument(from: Room(name: "Hermes", size: 8))
    let large = try await rooms.whereField("size", isGreaterThan: 5).getDocuments()
    return try large.documents.map { try $0.data(as: Room.self) }
  }

  static func receipt(_ room: DocumentReference) async throws -> String {
    let receipt = room.enqueue(.set(["name": "Attic"]))
    let id = try await receipt.id
    let durability = try await receipt.durable
    return "\(id?.description ?? "") \(durability)"
  }

  static func outcome(
    _ db: Firestore, _ saved: String, _ show: (String) -> Void
  ) async throws {
    guard let id = WriteReceipt.ID(saved) else { return }
    switch try await db.outcome(of: id) {
    case .acknowledged, .superseded: show("saved")
    case .rejected(let error): show("refused: \(error.message)")
    case .discarded, .failed: show("given up")
    }
  }

  static func refusals(_ db: Firestore) async throws {
    for batch in try await db.rejectedWrites() {
      guard case .rejected(let error) = batch.state else { continue }
      if error.code == .permissionDenied {
        try await db.discard(batch.id)
      } else {
        try await db.retry(batch.id)
      }
    }
  }

  static func keep(_ db: Firestore) {
    db.collection("rooms").whereField("floor", isEqualTo: 2).keepSynced(true)
    db.document("people/anna").keepSynced(true)
  }

  static func indexes(_ db: Firestore, _ json: String) async throws {
    try await db.setIndexConfiguration(json)
    db.persistentCacheIndexManager?.enableIndexAutoCreation()
  }
}
