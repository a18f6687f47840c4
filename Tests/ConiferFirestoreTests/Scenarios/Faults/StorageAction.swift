import ConiferDocument
import ConiferStorage

/// What the cases can have fail, by the reference's names of its transactions.
enum StorageAction: String, CaseIterable, Sendable {
  case allocateTarget = "Allocate target"
  case releaseTarget = "Release target"
  case applyRemoteEvent = "Apply remote event"
  case readRemoteVersion = "Get last remote snapshot version"
  case writeLocally = "Locally write mutations"
  case acknowledgeBatch = "Acknowledge batch"
  case rejectBatch = "Reject batch"
  case readNextBatch = "Get next mutation batch"
  case changeUser = "Handle user change"
  case executeQuery = "Execute query"
  case readDocument = "read document"
  case lookupDocuments = "Lookup mutation documents"
  case notifyLocalViewChanges
  case saveBundle = "Save bundle"
  case saveNamedQuery = "Save named query"
  case collectGarbage = "Collect garbage"

  /// - Throws: when nobody knows the name.
  init(reading name: String) throws(ScenarioError) {
    guard let action = StorageAction(rawValue: name) else {
      throw ScenarioError("nobody knows the persistence action \(name)")
    }
    self = action
  }
}

/// What an edit or a read does to a store, as far as actions differ by it.
enum StorageUse: Hashable, Sendable {
  // MARK: Edits

  /// A query is tracked that was not.
  case newQuery
  /// What is stored of a tracked query changes, in a commit that stores an event of the server, or in another one.
  case knownQuery(inEvent: Bool)
  /// A tracked query is forgotten.
  case endOfQuery
  /// What the server said of documents, or of what matches.
  case documents
  /// As of when matches are whole is stored apart, or documents are forgotten, and nothing else.
  case completeness
  case enqueue
  case acknowledgement
  case rejection
  /// A name of the tree's metadata.
  case metadata
  case eviction
  /// What was committed is made durable.
  case sync
  /// A tracked query is listened to from now on: a refusal says that it is just being evicted.
  case activation

  // MARK: Reads

  case readDocument
  case readQuery
  case readQueue
  case readTotals
  /// One write of the queue.
  case readEntry
  case readIncidents
  /// A tracked query is looked up by what it asks for.
  case findQuery
  /// Names of the tree's metadata are listed.
  case readNames
  /// A read or an edit of another lane than the one that was used last.
  case otherLane

  /// What the client asks of the store where the reference runs these transactions. The client stores an event of the
  /// server in one commit, and has no transaction of its own for the last version. Of what views show it stores apart as of
  /// when matches are whole, and that documents are forgotten.
  static let table: [StorageAction: Set<StorageUse>] = [
    .allocateTarget: [.newQuery],
    .releaseTarget: [.endOfQuery, .knownQuery(inEvent: false)],
    .applyRemoteEvent: [
      .documents, .knownQuery(inEvent: true), .knownQuery(inEvent: false),
    ],
    .readRemoteVersion: [
      .documents, .knownQuery(inEvent: true), .knownQuery(inEvent: false),
    ],
    .writeLocally: [.enqueue],
    .acknowledgeBatch: [.acknowledgement],
    .rejectBatch: [.rejection],
    .readNextBatch: [.readQueue],
    .changeUser: [.otherLane],
    .executeQuery: [.readQuery],
    .readDocument: [.readDocument],
    .lookupDocuments: [.readDocument],
    .notifyLocalViewChanges: [.completeness],
    .saveBundle: [.documents],
    .saveNamedQuery: [.metadata],
    .collectGarbage: [.eviction],
  ]
}
