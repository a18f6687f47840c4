import ConiferFirestore
import Dispatch
import Foundation

// Every name of the Apple SDK's documents that Docs/AppleSDK.md calls the same, as ported code has it. Nobody calls these
// functions: it is the compiler that checks them, and `AppleTableTests` that no name is missing.
enum AppleNames {
  struct Room: Codable {
    @DocumentID var id: String? = nil
    @ServerTimestamp var made: Date? = nil
    @ExplicitNull var note: String? = nil
  }

  static var done: ((any Error)?) -> Void { { _ in } }

  static func databases() {
    let db = Firestore.firestore()
    _ = Firestore.firestore(database: "other")
    Firestore.enableLogging(true)
    let settings = db.settings
    settings.host = "localhost:8080"
    settings.isSSLEnabled = false
    settings.dispatchQueue = DispatchQueue.main
    settings.isPersistenceEnabled = true
    settings.cacheSizeBytes = FirestoreCacheSizeUnlimited
    let size = NSNumber(value: 50 << 20)
    let persistent: any LocalCacheSettings = PersistentCacheSettings(sizeBytes: size)
    settings.cacheSettings = persistent
    settings.cacheSettings = PersistentCacheSettings()
    settings.cacheSettings = MemoryCacheSettings()
    let eager: any MemoryGarbageCollectorSettings = MemoryEagerGCSettings()
    settings.cacheSettings = MemoryCacheSettings(garbageCollectorSettings: eager)
    _ = (MemoryLRUGCSettings(), MemoryLRUGCSettings(sizeBytes: size))
    db.settings = FirestoreSettings()
    db.useEmulator(withHost: "localhost", port: 8080)
    db.persistentCacheIndexManager?.enableIndexAutoCreation()
    db.persistentCacheIndexManager?.disableIndexAutoCreation()
    db.persistentCacheIndexManager?.deleteAllIndexes()
    db.setIndexConfiguration("{}", completion: done)
    db.setIndexConfiguration(InputStream(data: Data()), completion: done)
  }

  static func states(_ db: Firestore) {
    db.enableNetwork(completion: done)
    db.disableNetwork(completion: done)
    db.clearPersistence(completion: done)
    db.waitForPendingWrites(completion: done)
    db.terminate(completion: done)
    let listener: any ListenerRegistration = db.addSnapshotsInSyncListener({})
    listener.remove()
  }

  static func bundles(_ db: Firestore) {
    let end: (LoadBundleTaskProgress?, (any Error)?) -> Void = { _, _ in }
    let task: LoadBundleTask = db.loadBundle(Data())
    db.loadBundle(Data(), completion: end)
    db.loadBundle(InputStream(data: Data()), completion: end)
    db.getQuery(named: "rooms", completion: { query in _ = query })
    let handle: LoadBundleObserverHandle = task.addObserver({ progress in
      _ = (progress.documentsLoaded, progress.totalDocuments)
      _ = (progress.bytesLoaded, progress.totalBytes, progress.state)
    })
    task.removeObserverWith(handle: handle)
    task.removeAllObservers()
    _ = [LoadBundleTaskState.error, .inProgress, .success]
  }

  static func awaited(_ db: Firestore) async throws {
    _ = try await db.loadBundle(Data())
    _ = try await db.loadBundle(InputStream(data: Data()))
    _ = await db.getQuery(named: "rooms")
    try await db.enableNetwork()
    try await db.disableNetwork()
    try await db.clearPersistence()
    try await db.waitForPendingWrites()
    try await db.terminate()
    try await db.setIndexConfiguration("{}")
    _ = try await db.runTransaction({ transaction, error in
      _ = (transaction, error)
      return 1
    })
    let document = db.document("rooms/r1")
    try await document.setData(["a": 1])
    try await document.setData(["a": 1], merge: true)
    try await document.setData(["a": 1], mergeFields: ["a"])
    try await document.updateData(["a": 1])
    try await document.delete()
    _ = try await document.getDocument()
    _ = try await document.getDocument(source: .cache)
    _ = try await document.getDocument(as: Room.self, with: .none, source: .server)
    _ = try await db.collection("rooms").addDocument(data: ["a": 1])
    _ = try await db.collection("rooms").getDocuments()
    _ = try await db.collection("rooms").getDocuments(source: .cache)
    try await db.batch().commit()
    _ = try await db.collection("rooms").count.getAggregation(source: .server)
    for try await snapshot in document.snapshots { _ = snapshot }
    for try await snapshot in document.snapshots(includeMetadataChanges: true) { _ = snapshot }
    let rooms = db.collection("rooms")
    for try await snapshot in rooms.snapshots { _ = snapshot }
    for try await snapshot in rooms.snapshots(includeMetadataChanges: true) { _ = snapshot }
  }

  static func references(_ db: Firestore) throws {
    let rooms: CollectionReference = db.collection("rooms")
    _ = db.collectionGroup("rooms")
    let document: DocumentReference = db.document("rooms/r1")
    _ = (rooms.collectionID, rooms.parent, rooms.path)
    _ = (rooms.document(), rooms.document("r1"))
    _ = rooms.addDocument(data: ["a": 1])
    _ = rooms.addDocument(data: ["a": 1], completion: done)
    _ = try rooms.addDocument(from: Room(), encoder: Firestore.Encoder(), completion: done)
    _ = (document.documentID, document.parent, document.firestore, document.path)
    _ = document.collection("seats")
  }

  static func writes(_ document: DocumentReference) throws {
    document.setData(["a": 1])
    document.setData(["a": 1], merge: true)
    document.setData(["a": 1], mergeFields: ["a", FieldPath(["b"])])
    document.setData(["a": 1], completion: done)
    document.setData(["a": 1], merge: true, completion: done)
    document.setData(["a": 1], mergeFields: ["a"], completion: done)
    let coder = Firestore.Encoder()
    try document.setData(from: Room(), encoder: coder, completion: done)
    try document.setData(from: Room(), merge: true, encoder: coder, completion: done)
    try document.setData(from: Room(), mergeFields: ["a"], encoder: coder, completion: done)
    document.updateData(["a": FieldValue.delete()])
    document.updateData([FieldPath(["b"]): 1], completion: done)
    document.delete()
    document.delete(completion: done)
  }

  static func reads(_ document: DocumentReference) {
    let show: (DocumentSnapshot?, (any Error)?) -> Void = { _, _ in }
    document.getDocument(completion: show)
    document.getDocument(source: .server, completion: show)
    let result: (Result<Room, any Error>) -> Void = { _ in }
    document.getDocument(as: Room.self, with: .none, completion: result)
    document.getDocument(as: Room.self, with: .none, source: .cache, completion: result)
    document.getDocument(as: Room.self, decoder: Firestore.Decoder(), completion: result)
    _ = document.addSnapshotListener(show)
    _ = document.addSnapshotListener(includeMetadataChanges: true, listener: show)
    var options = SnapshotListenOptions()
    options = options.withIncludeMetadataChanges(true).withSource(ListenSource.cache)
    _ = (options.includeMetadataChanges, options.source, ListenSource.default)
    _ = document.addSnapshotListener(options: options, listener: show)
    _ = [FirestoreSource.default, .server, .cache]
  }

  static func queries(_ q: Query, _ at: DocumentSnapshot, _ path: FieldPath) {
    let show: (QuerySnapshot?, (any Error)?) -> Void = { _, _ in }
    q.getDocuments(completion: show)
    q.getDocuments(source: .cache, completion: show)
    _ = q.addSnapshotListener(show)
    _ = q.addSnapshotListener(includeMetadataChanges: true, listener: show)
    _ = q.addSnapshotListener(options: SnapshotListenOptions(), listener: show)
    _ = (q.firestore, q.count, q.whereFilter(Filter.andFilter([])))
    _ = q.aggregate([AggregateField.count()])
    for field in ["a"] {
      _ = q.whereField(field, isEqualTo: 1)
      _ = q.whereField(field, isNotEqualTo: 1)
      _ = q.whereField(field, isLessThan: 1)
      _ = q.whereField(field, isLessThanOrEqualTo: 1)
      _ = q.whereField(field, isGreaterThan: 1)
      _ = q.whereField(field, isGreaterThanOrEqualTo: 1)
      _ = q.whereField(field, arrayContains: 1)
      _ = q.whereField(field, arrayContainsAny: [1])
      _ = q.whereField(field, in: [1])
      _ = q.whereField(field, notIn: [1])
    }
    _ = q.whereField(path, isEqualTo: 1).whereField(path, notIn: [1])
    _ = (q.order(by: "a"), q.order(by: path))
    _ = (q.order(by: "a", descending: true), q.order(by: path, descending: true))
    _ = (q.limit(to: 1), q.limit(toLast: 1))
    _ = (q.start(atDocument: at), q.start(at: [1]))
    _ = (q.start(afterDocument: at), q.start(after: [1]))
    _ = (q.end(beforeDocument: at), q.end(before: [1]))
    _ = (q.end(atDocument: at), q.end(at: [1]))
  }

  static func filters(_ path: FieldPath) {
    _ = Filter.whereField("a", isEqualTo: 1)
    _ = Filter.whereField("a", isNotEqualTo: 1)
    _ = Filter.whereField("a", isLessThan: 1)
    _ = Filter.whereField("a", isLessThanOrEqualTo: 1)
    _ = Filter.whereField("a", isGreaterThan: 1)
    _ = Filter.whereField("a", isGreaterOrEqualTo: 1)
    _ = Filter.whereField("a", arrayContains: 1)
    _ = Filter.whereField("a", arrayContainsAny: [1])
    _ = Filter.whereField("a", in: [1])
    _ = Filter.whereField("a", notIn: [1])
    _ = Filter.whereField(path, isEqualTo: 1)
    _ = Filter.orFilter([Filter.andFilter([])])
  }

  static func snapshots(_ query: QuerySnapshot, _ document: DocumentSnapshot) throws {
    _ = (query.query, query.metadata, query.isEmpty, query.count)
    _ = query.documentChanges(includeMetadataChanges: true)
    for change: DocumentChange in query.documentChanges {
      _ = (change.type, change.document, change.oldIndex, change.newIndex)
    }
    _ = [DocumentChangeType.added, .modified, .removed]
    for found: QueryDocumentSnapshot in query.documents {
      let fields: [String: Any] = found.data()
      _ = (fields, found.data(with: .estimate))
    }
    _ = (document.exists, document.reference, document.documentID, document.metadata)
    _ = (document.data(), document.data(with: ServerTimestampBehavior.previous))
    _ = (document.get("a.b"), document.get("a", serverTimestampBehavior: .none), document["a"])
    _ = try document.data(as: Room.self, with: .none, decoder: Firestore.Decoder())
    let metadata: SnapshotMetadata = document.metadata
    _ = (metadata.hasPendingWrites, metadata.isFromCache)
    _ = [ServerTimestampBehavior.none, .estimate, .previous]
  }

  static func aggregates(_ q: AggregateQuery, _ path: FieldPath) {
    _ = q.query
    let told: (AggregateQuerySnapshot?, (any Error)?) -> Void = { snapshot, error in
      _ = (snapshot?.query, snapshot?.count, snapshot?.get(AggregateField.count()), error)
    }
    q.getAggregation(source: AggregateSource.server, completion: told)
    _ = (AggregateField.sum("a"), AggregateField.sum(path))
    _ = (AggregateField.average("a"), AggregateField.average(path))
  }

  static func batches(_ db: Firestore, _ document: DocumentReference) throws {
    let batch: WriteBatch = db.batch()
    batch.setData(["a": 1], forDocument: document)
    batch.setData(["a": 1], forDocument: document, merge: true)
    batch.setData(["a": 1], forDocument: document, mergeFields: ["a"])
    let encoder = Firestore.Encoder()
    try batch.setData(from: Room(), forDocument: document, merge: true, encoder: encoder)
    try batch.setData(from: Room(), forDocument: document, mergeFields: ["a"], encoder: encoder)
    batch.updateData(["a": 1], forDocument: document)
    batch.deleteDocument(document)
    batch.commit()
    batch.commit(completion: done)
  }

  static func transactions(_ db: Firestore, _ document: DocumentReference) {
    let block: (Transaction, TransactionErrorPointer) -> Any? = { transaction, error in
      let encoder = Firestore.Encoder()
      do {
        _ = try transaction.getDocument(document)
        try transaction.setData(from: Room(), forDocument: document, merge: true, encoder: encoder)
        let fields = ["a"]
        try transaction.setData(
          from: Room(), forDocument: document, mergeFields: fields, encoder: encoder)
      } catch let failure {
        error?.pointee = failure as NSError
      }
      transaction.setData(["a": 1], forDocument: document)
      transaction.setData(["a": 1], forDocument: document, merge: true)
      transaction.setData(["a": 1], forDocument: document, mergeFields: ["a"])
      transaction.updateData(["a": 1], forDocument: document)
      transaction.deleteDocument(document)
      return nil
    }
    let end: (Any?, (any Error)?) -> Void = { _, _ in }
    db.runTransaction(block, completion: end)
    let options = TransactionOptions()
    options.maxAttempts = 3
    db.runTransaction(with: options, block: block, completion: end)
  }

  static func values() {
    _ = (FieldPath(["a", "b"]), FieldPath.documentID())
    _ = (FieldValue.delete(), FieldValue.serverTimestamp())
    _ = (FieldValue.arrayUnion([1]), FieldValue.arrayRemove([1]))
    _ = (FieldValue.increment(1.5), FieldValue.increment(Int64(1)))
    _ = (FieldValue.vector([1.5]), FieldValue.vector([1.5] as [Float]))
    _ = (VectorValue([1]).array, VectorValue([1]))
    let point = GeoPoint(latitude: 1, longitude: 2)
    _ = (point.latitude, point.longitude)
    let time = Timestamp(seconds: 1, nanoseconds: 2)
    _ = (Timestamp(date: Date()), Timestamp(), time.dateValue(), time.compare(time))
    _ = (time.seconds, time.nanoseconds)
  }

  static func errors(_ error: any Error) -> Bool {
    let known: [FirestoreErrorCode.Code] = [
      .OK, .cancelled, .unknown, .invalidArgument, .deadlineExceeded, .notFound, .alreadyExists,
      .permissionDenied, .resourceExhausted, .failedPrecondition, .aborted, .outOfRange,
      .unimplemented, .internal, .unavailable, .dataLoss, .unauthenticated,
    ]
    return known.contains { $0.rawValue == (error as NSError).code }
      && (error as NSError).domain == FirestoreErrorDomain
  }

  static func encoders(_ document: DocumentReference) throws {
    let encoder = Firestore.Encoder()
    encoder.dateEncodingStrategy = .timestamp
    encoder.dateEncodingStrategy = .deferredToDate
    encoder.dataEncodingStrategy = .blob
    encoder.keyEncodingStrategy = .convertToSnakeCase
    encoder.userInfo = [:]
    let fields: [String: Any] = try encoder.encode(Room())
    let decoder = Firestore.Decoder()
    decoder.dateDecodingStrategy = .timestamp
    decoder.dataDecodingStrategy = .blob
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    decoder.userInfo = [:]
    _ = try decoder.decode(Room.self, from: fields)
    _ = try decoder.decode(Room.self, from: fields, in: document)
  }
}
