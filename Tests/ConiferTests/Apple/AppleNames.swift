import Conifer
import Dispatch
import Foundation

// Every name of the Apple SDK's database that Docs/AppleSDK.md calls the same, as ported code has it. Nobody calls these
// functions: it is the compiler that checks them, and `AppleTableTests` that no name is missing.
enum AppleNames {
  struct Room: Codable, Equatable {
    var name = ""
    @ServerTimestamp var made: Date?
  }

  static func databases() {
    let db = Database.database()
    _ = Database.database(url: "https://two.example.com")
    Database.setLoggingEnabled(true)
    _ = Database.sdkVersion()
    _ = db.reference()
    _ = db.reference(withPath: "rooms")
    _ = db.reference(fromURL: "https://one.example.com/rooms")
    db.purgeOutstandingWrites()
    db.goOffline()
    db.goOnline()
    db.isPersistenceEnabled = true
    db.persistenceCacheSizeBytes = 50 << 20
    db.callbackQueue = DispatchQueue.main
  }

  static func references(_ ref: DatabaseReference) {
    _ = ref.child("a/b")
    _ = ref.childByAutoId()
    _ = (ref.parent, ref.root, ref.key, ref.url, ref.database, ref.description)
    DatabaseReference.goOffline()
    DatabaseReference.goOnline()
  }

  static func writes(_ ref: DatabaseReference) throws {
    let done: ((any Error)?, DatabaseReference) -> Void = { _, _ in }
    ref.setValue(1)
    ref.setValue(1, withCompletionBlock: done)
    ref.setValue(1, andPriority: 2)
    ref.setValue(1, andPriority: 2, withCompletionBlock: done)
    ref.removeValue()
    ref.removeValue(completionBlock: done)
    ref.setPriority(1)
    ref.setPriority(1, withCompletionBlock: done)
    ref.updateChildValues(["a": 1])
    ref.updateChildValues(["a": 1], withCompletionBlock: done)
    try ref.setValue(from: Room())
    try ref.setValue(from: Room(), encoder: Database.Encoder(), completion: { _ in })
    ref.onDisconnectSetValue(1)
    ref.onDisconnectSetValue(1, withCompletionBlock: done)
    ref.onDisconnectSetValue(1, andPriority: 2)
    ref.onDisconnectSetValue(1, andPriority: 2, withCompletionBlock: done)
    ref.onDisconnectRemoveValue()
    ref.onDisconnectRemoveValue(completionBlock: done)
    ref.onDisconnectUpdateChildValues(["a": 1])
    ref.onDisconnectUpdateChildValues(["a": 1], withCompletionBlock: done)
    ref.cancelDisconnectOperations()
    ref.cancelDisconnectOperations(completionBlock: done)
  }

  static func awaited(_ ref: DatabaseReference) async throws {
    try await ref.setValue(1)
    try await ref.setValue(1, andPriority: 2)
    try await ref.removeValue()
    try await ref.setPriority(1)
    try await ref.updateChildValues(["a": 1])
    try await ref.onDisconnectSetValue(1)
    try await ref.onDisconnectSetValue(1, andPriority: 2)
    try await ref.onDisconnectRemoveValue()
    try await ref.onDisconnectUpdateChildValues(["a": 1])
    try await ref.cancelDisconnectOperations()
    let (committed, snapshot) = try await ref.runTransactionBlock({ .success(withValue: $0) })
    _ = (committed, snapshot)
    _ = try await ref.getData()
    let (first, key) = try await ref.observeSingleEventAndPreviousSiblingKey(of: .childAdded)
    _ = (first, key)
    _ = try await ref.observeSingleEvent(of: .value)
  }

  static func observers(_ q: DatabaseQuery) {
    let show: (DataSnapshot) -> Void = { _ in }
    let both: (DataSnapshot, String?) -> Void = { _, _ in }
    let stop: (any Error) -> Void = { _ in }
    let handle: DatabaseHandle = q.observe(.value, with: show)
    q.observe(.childAdded, with: show, withCancel: stop)
    q.observe(.childRemoved, andPreviousSiblingKeyWith: both)
    q.observe(.childChanged, andPreviousSiblingKeyWith: both, withCancel: stop)
    q.observeSingleEvent(of: .childMoved, with: show)
    q.observeSingleEvent(of: .value, with: show, withCancel: stop)
    q.observeSingleEvent(of: .value, andPreviousSiblingKeyWith: both)
    q.observeSingleEvent(of: .value, andPreviousSiblingKeyWith: both, withCancel: stop)
    q.getData(completion: { error, snapshot in _ = (error, snapshot) })
    q.removeObserver(withHandle: handle)
    q.removeAllObservers()
    q.keepSynced(true)
  }

  static func sequences(_ q: DatabaseQuery) async throws {
    let snapshots: DatabaseQuerySnapshotsSequence = q.snapshots
    for try await snapshot in snapshots { _ = snapshot }
    let events: DatabaseChildEventsSequence = q.childEvents()
    for try await event in events {
      switch event {
      case DatabaseEvent.childAdded(let child, previousSiblingKey: let key): _ = (child, key)
      case DatabaseEvent.childChanged(let child, previousSiblingKey: let key): _ = (child, key)
      case DatabaseEvent.childMoved(let child, previousSiblingKey: let key): _ = (child, key)
      case DatabaseEvent.childRemoved(let child): _ = child
      }
    }
    _ = DatabaseQuerySnapshotsSequence(q)
    _ = DatabaseChildEventsSequence(q)
  }

  static func queries(_ q: DatabaseQuery) {
    _ = q.ref
    _ = q.queryLimited(toFirst: 1)
    _ = q.queryLimited(toLast: 1)
    _ = q.queryOrdered(byChild: "a")
    _ = q.queryOrderedByKey()
    _ = q.queryOrderedByValue()
    _ = q.queryOrderedByPriority()
    _ = q.queryStarting(atValue: 1)
    _ = q.queryStarting(atValue: 1, childKey: "k")
    _ = q.queryStarting(afterValue: 1)
    _ = q.queryStarting(afterValue: 1, childKey: "k")
    _ = q.queryEnding(atValue: 1)
    _ = q.queryEnding(atValue: 1, childKey: "k")
    _ = q.queryEnding(beforeValue: 1)
    _ = q.queryEnding(beforeValue: 1, childKey: "k")
    _ = q.queryEqual(toValue: 1)
    _ = q.queryEqual(toValue: 1, childKey: "k")
  }

  static func snapshots(_ snapshot: DataSnapshot) throws {
    _ = snapshot.childSnapshot(forPath: "a/b")
    _ = (snapshot.hasChild("a"), snapshot.hasChildren(), snapshot.exists())
    _ = (snapshot.value, snapshot.valueInExportFormat(), snapshot.priority)
    _ = (snapshot.childrenCount, snapshot.ref, snapshot.key)
    let children = snapshot.children
    while let child = children.nextObject() { _ = child }
    for child in snapshot.children.allObjects { _ = child }
    _ = try snapshot.data(as: Room.self)
    _ = try snapshot.data(as: Room?.self, decoder: Database.Decoder())
  }

  static func transactions(_ ref: DatabaseReference) {
    let end: ((any Error)?, Bool, DataSnapshot?) -> Void = { _, _, _ in }
    let block: (MutableData) -> TransactionResult = { data in
      _ = (data.hasChildren(), data.hasChild(atPath: "a"), data.childrenCount, data.key)
      _ = data.childData(byAppendingPath: "a")
      data.value = 1
      data.priority = 2
      let children = data.children
      while let child = children.nextObject() { child.value = nil }
      for child in data.children.allObjects { child.value = nil }
      if data.value == nil { return TransactionResult.abort() }
      return TransactionResult.success(withValue: data)
    }
    ref.runTransactionBlock(block)
    ref.runTransactionBlock(block, andCompletionBlock: end)
    ref.runTransactionBlock(block, andCompletionBlock: end, withLocalEvents: false)
  }

  static func values() {
    _ = ServerValue.timestamp()
    _ = ServerValue.increment(1)
    _ = ServerValue.increment(NSNumber(value: 1))
    _ = [DataEventType.childAdded, .childRemoved, .childChanged, .childMoved, .value]
  }

  static func encoders() throws {
    let encoder = Database.Encoder()
    encoder.dateEncodingStrategy = .deferredToDate
    encoder.dateEncodingStrategy = .secondsSince1970
    encoder.dateEncodingStrategy = .millisecondsSince1970
    encoder.dateEncodingStrategy = .iso8601
    encoder.dateEncodingStrategy = .formatted(DateFormatter())
    encoder.dateEncodingStrategy = .custom({ date, encoder in try date.encode(to: encoder) })
    encoder.dataEncodingStrategy = .deferredToData
    encoder.dataEncodingStrategy = .base64
    encoder.dataEncodingStrategy = .custom({ data, encoder in try data.encode(to: encoder) })
    encoder.nonConformingFloatEncodingStrategy = .throw
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "+", negativeInfinity: "-", nan: "?")
    encoder.keyEncodingStrategy = .useDefaultKeys
    encoder.keyEncodingStrategy = .convertToSnakeCase
    encoder.keyEncodingStrategy = .custom({ path in path[path.count - 1] })
    encoder.userInfo = [:]
    let data: Any = try encoder.encode(Room())
    let decoder = Database.Decoder()
    decoder.dateDecodingStrategy = .deferredToDate
    decoder.dateDecodingStrategy = .secondsSince1970
    decoder.dateDecodingStrategy = .millisecondsSince1970
    decoder.dateDecodingStrategy = .iso8601
    decoder.dateDecodingStrategy = .formatted(DateFormatter())
    decoder.dateDecodingStrategy = .custom({ decoder in try Date(from: decoder) })
    decoder.dataDecodingStrategy = .deferredToData
    decoder.dataDecodingStrategy = .base64
    decoder.dataDecodingStrategy = .custom({ decoder in try Data(from: decoder) })
    decoder.nonConformingFloatDecodingStrategy = .throw
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "+", negativeInfinity: "-", nan: "?")
    decoder.keyDecodingStrategy = .useDefaultKeys
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    decoder.keyDecodingStrategy = .custom({ path in path[path.count - 1] })
    decoder.userInfo = [:]
    _ = try decoder.decode(Room.self, from: data)
  }
}
