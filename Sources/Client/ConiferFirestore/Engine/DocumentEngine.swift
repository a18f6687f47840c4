package import ConiferDocument
package import ConiferDocumentSync
package import ConiferEngine
package import ConiferStorage

/// The engine of a `Firestore` as its calls use it.
///
/// Each call returns at once. Callbacks run on the callback queue of the configuration, in the
/// order of what happened. After `terminate` has begun, only its own callback is called.
package protocol DocumentEngine: AnyObject, Sendable {
  // MARK: Reading

  /// Begins to listen under a number of the caller's; an error is the last that is told.
  func listen(
    _ id: ListenerID, _ query: DocumentQuery, _ options: ListenOptions,
    _ completion: @escaping @Sendable (Result<ListenEvent, FirestoreError>) -> Void)
  /// Ends a listener; unknown numbers are ignored. Nothing is told after a call on the callback queue.
  func unlisten(_ id: ListenerID)
  /// Reads a document once.
  func get(
    _ path: DocumentPath, _ source: GetSource,
    _ completion: @escaping @Sendable (Result<GotDocument, FirestoreError>) -> Void)
  /// Reads what a query gives once.
  func get(
    _ query: DocumentQuery, _ source: GetSource,
    _ completion: @escaping @Sendable (Result<ListenEvent, FirestoreError>) -> Void)
  /// Computes aggregates of the documents that a query finds, on the server or from the cache.
  func aggregate(
    _ query: DocumentQuery, _ aggregates: [Aggregate], _ source: GetSource,
    _ completion: @escaping @Sendable (Result<AggregateAnswer, FirestoreError>) -> Void)
  /// Begins to report that the snapshots of all listeners are of one moment: at once, and then
  /// after each round of events.
  func listenInSync(_ id: ListenerID, _ completion: @escaping @Sendable () -> Void)

  // MARK: Writing

  /// Queues writes that the server makes whole or not at all.
  ///
  /// - ended: called with the server's answer, or with what kept them from being queued.
  func write(
    _ writes: [Mutation], _ ended: (@Sendable (FirestoreError?) -> Void)?
  ) -> WriteReceipt
  /// Calls back once all writes that are pending now were accepted or refused.
  func waitForPendingWrites(_ completion: @escaping @Sendable (FirestoreError?) -> Void)
  /// The server's documents, for a transaction; asked for even when the network is not to be used.
  ///
  /// - Throws: also `aborted` when another user is signed in than at the transaction's first call.
  func lookup(
    _ paths: [DocumentPath], _ user: TransactionUser
  ) async throws(FirestoreError) -> [Document]
  /// Makes the writes of a transaction; throws as `lookup`.
  func commit(_ writes: [Mutation], _ user: TransactionUser) async throws(FirestoreError)

  // MARK: The queue, as `WriteReceipt.ID` names what is in it

  /// How a write ended that may be of an earlier run; waits until it has.
  func outcome(of id: WriteReceipt.ID) async throws(FirestoreError) -> WriteReceipt.Outcome
  /// A window of the user's writes that wait or were refused, in the order of their numbers.
  func pendingWrites(
    after number: UInt64?, limit: Int, rejectedOnly: Bool
  ) async throws(FirestoreError) -> [PendingDocumentWrite]
  /// Queues a refused write again, in its old place.
  func retry(_ id: WriteReceipt.ID) async throws(FirestoreError)
  /// Gives up a write that is not on its way.
  func discard(_ id: WriteReceipt.ID) async throws(FirestoreError)

  // MARK: The cache

  /// Protects what a query gives from eviction and keeps it up to date; or ends that.
  func keepSynced(_ isKept: Bool, _ query: DocumentQuery)
  /// Declares exactly these indexes.
  func setIndexes(
    _ indexes: [DocumentIndex], _ completion: @escaping @Sendable (FirestoreError?) -> Void)
  /// Whether an index is declared when a query shows that one would help.
  func setCreatesIndexes(_ creates: Bool)
  /// Takes in the bytes of a bundle, and tells how far that has come.
  func loadBundle(
    _ bytes: [UInt8],
    _ completion: @escaping @Sendable (Result<BundleProgress, FirestoreError>) -> Void)
  /// The query that a bundle brought under a name; nil for an unknown name.
  func namedQuery(
    _ name: String,
    _ completion: @escaping @Sendable (Result<DocumentQuery?, FirestoreError>) -> Void)

  /// What may be asked of the storage.
  ///
  /// - Throws: why it will never be open.
  func storage() async throws(DatabaseError) -> StorageQuestions
  /// The number under which the cache tracks a query; nil when it does not.
  func trackedQuery(_ query: DocumentQuery) async throws(FirestoreError) -> QueryID?

  /// Tells when the queue or the cache passes a limit, as long as the observation is on.
  func observeUsage(
    _ observation: UsageObservation, _ limits: UsageLimits,
    _ told: @escaping @Sendable (UsageChange) -> Void)
  /// An observation of usage was removed.
  func usageObservationEnded()
  /// Forgets the next of the documents that the cache holds of a source, unless something uses one of them.
  ///
  /// - Parameter position: where it goes on; nil at the beginning.
  func clear(
    _ source: DocumentQuery.Source, after position: ClearedDocuments.Position?
  ) async throws(FirestoreError) -> ClearedDocuments

  // MARK: Network, user and end

  /// Somebody signed in or out: the token provider is asked anew.
  func tokenDidChange()
  /// The app has another token of its own: its provider is asked anew.
  func appCheckTokenDidChange()

  /// Lets the network be used, or not; called back once that is so.
  func setNetwork(_ isEnabled: Bool, _ completion: @escaping @Sendable (FirestoreError?) -> Void)
  /// Closes the streams, makes everything durable and lets go of the store until `resume`; called back with why not.
  func suspend(_ completion: @escaping @Sendable (FirestoreError?) -> Void)
  /// Goes on with the store; called back with why not, such as that another process has the store open: it stays
  /// suspended then.
  func resume(_ completion: @escaping @Sendable (FirestoreError?) -> Void)
  /// Waits until no write of the user waits for the server, or until a time in seconds since 1970; gives
  /// what is left.
  func drain(until deadline: Double) async throws(FirestoreError) -> PendingWriteTotals
  /// Ends all; called back once the store is closed. Data and writes stay.
  func terminate(_ completion: @escaping @Sendable (FirestoreError?) -> Void)
}

/// The event that a listener or a query's get is given.
package struct ListenEvent: Sendable {
  /// The documents, what changed, and where they come from.
  package let snapshot: ViewSnapshot
  /// How well the cache knew the query.
  package let knowledge: QueryKnowledge
}

/// What the cache knows of a query: whether it was ever complete, and as of when.
package struct QueryKnowledge: Sendable, Hashable {
  /// Whether the server has ever told all that the query gives.
  package var wasEverComplete: Bool
  /// The server's time as of which it told what is cached; zero when it never did.
  package var readTime: ConiferDocument.Timestamp
  /// What is known of the one document that was asked for and is not found; nil for all else.
  package var absent: Document?

  /// What the cache knows of a query: whether it was ever complete, and as of when.
  package init(
    wasEverComplete: Bool = false, readTime: ConiferDocument.Timestamp = .zero,
    absent: Document? = nil
  ) {
    self.wasEverComplete = wasEverComplete
    self.readTime = readTime
    self.absent = absent
  }
}

/// What a get of a document gives.
package struct GotDocument: Sendable {
  /// The document; found or missing.
  package let document: Document
  /// Whether it may differ from the server's.
  package let isFromCache: Bool
  /// As of when the server has last confirmed what it said of the document before; zero when it has not.
  package let confirmed: ConiferDocument.Timestamp

  /// What a get gives.
  package init(
    document: Document, isFromCache: Bool, confirmed: ConiferDocument.Timestamp = .zero
  ) {
    self.document = document
    self.isFromCache = isFromCache
    self.confirmed = confirmed
  }
}

/// What an aggregate query gives.
package struct AggregateAnswer: Sendable {
  /// A value for each aggregate, in their order.
  package let values: [DocumentValue]
  /// What the cache knew of the query when the values are computed from it; nil when they are the
  /// server's.
  package let cached: QueryKnowledge?

  /// What an aggregate query gives.
  package init(values: [DocumentValue], cached: QueryKnowledge?) {
    self.values = values
    self.cached = cached
  }
}

/// A write of the user's that waits, or was refused.
package struct PendingDocumentWrite: Sendable {
  /// Its id, which it keeps after a restart.
  package let id: WriteReceipt.ID
  /// What it does.
  package let batch: MutationBatch
  /// How far it has come.
  package let state: WriteState
  /// How often it was sent.
  package let attempts: Int

  /// A write.
  package init(id: WriteReceipt.ID, batch: MutationBatch, state: WriteState, attempts: Int) {
    self.id = id
    self.batch = batch
    self.state = state
    self.attempts = attempts
  }
}

/// How far a bundle has been taken in.
package struct BundleProgress: Sendable, Hashable {
  /// Documents taken in.
  package var documents: Int
  /// Documents that there are.
  package var totalDocuments: Int
  /// Bytes taken in.
  package var bytes: Int
  /// Bytes that there are.
  package var totalBytes: Int
  /// Whether all was taken in and is stored.
  package var isDone: Bool

  /// How far a bundle has been taken in.
  package init(
    documents: Int = 0, totalDocuments: Int = 0, bytes: Int = 0, totalBytes: Int = 0,
    isDone: Bool = false
  ) {
    self.documents = documents
    self.totalDocuments = totalDocuments
    self.bytes = bytes
    self.totalBytes = totalBytes
    self.isDone = isDone
  }
}
