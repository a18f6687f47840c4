import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import ConiferWire

// Requests without a stream. Reads see the newest stored commit, and wait for nobody.
extension DatabaseHost {
  /// Reads documents, each found or missing, in the order of their paths.
  func lookup(
    _ paths: [DocumentPath], _ credentials: Credentials
  ) async throws(StatusError) -> [Document] {
    let (documents, time) = try await find(paths, credentials)
    return documents.map { $0.told(at: time) }
  }

  /// Reads documents, each found or missing, in the order of their paths.
  ///
  /// - Returns: the documents as they are stored, and as of when.
  ///
  /// - Throws: `resourceExhausted` when there is no room for them in the share.
  func find(
    _ paths: [DocumentPath], _ credentials: Credentials, in share: ReadShare? = nil
  ) async throws(StatusError) -> (documents: [Document], time: Timestamp) {
    let caller = try caller(credentials)
    for path in paths {
      do throws(DocumentError) { try path.validate() } catch {
        throw StatusError(invalidArgument: error)
      }
    }
    let (documents, time) = try await read { (view) throws(StoreError) in
      // A document that is asked for many times is read, and held, once.
      var known: [DocumentPath: Document] = [:]
      var found: [Document] = []
      for path in paths {
        if let read = known[path] {
          found.append(read)
          continue
        }
        let document = try view.document(path)
        if let share, !share.claim(document.memory) { throw ReadAllowance.exceeded }
        known[path] = document
        found.append(document)
      }
      return (found, view.time)
    }
    for document in documents {
      try caller.require(.get(document.path, document.fields), access)
    }
    return (documents, time)
  }

  /// A window of what a collection shows: its documents, and those that are missing and have something below them.
  ///
  /// - Returns: the documents as they are stored, in the order of their ids, and as of when.
  func children(
    of collection: CollectionPath, after last: DocumentPath?, _ size: PageSize,
    _ credentials: Credentials, in share: ReadShare
  ) async throws(StatusError) -> (documents: [Document], time: Timestamp) {
    try caller(credentials).requireListing(access)
    return try await read { (view) throws(StoreError) in
      (try view.children(of: collection, after: last, size, in: share), view.time)
    }
  }

  /// The first documents of a query of a collection, as many as are wanted, or some more than about so many bytes.
  ///
  /// - Returns: the documents as they are stored, and as of when.
  /// - Throws: `failedPrecondition` when the document that it begins after was changed, which only those learn who may list.
  func list(
    _ start: ListStart, _ size: PageSize, _ credentials: Credentials, in share: ReadShare
  ) async throws(StatusError) -> (documents: [Document], time: Timestamp) {
    let caller = try caller(credentials)
    try checkQuery(start.query)
    try caller.require(.list(start.query.target), access)
    let (found, time) = try await read { (view) throws(StoreError) in
      guard let query = try start.query(view, share) else {
        return ([Document]?.none, view.time)
      }
      return (try view.first(size, of: query, in: share), view.time)
    }
    guard let found else {
      throw StatusError(
        .failedPrecondition,
        "The last document of the page before was changed since, so its place is unknown. List from the beginning."
      )
    }
    return (found, time)
  }

  /// A window of the ids of the collections at the root, or directly below a document, in the order of their UTF-8.
  func collectionIDs(
    below parent: DocumentPath?, after last: String?, limit: Int, _ credentials: Credentials
  ) async throws(StatusError) -> (ids: [String], time: Timestamp) {
    try caller(credentials).requireListing(access)
    return try await read { (view) throws(StoreError) in
      (try view.collectionIDs(below: parent, after: last, limit: limit), view.time)
    }
  }

  /// A document as the server has it; nil when it does not exist.
  func stored(_ path: DocumentPath) async throws(StatusError) -> StoredDocument? {
    try await read { (view) throws(StoreError) in StoredDocument(try view.document(path)) }
  }

  private func checkQuery(_ query: DocumentQuery) throws(StatusError) {
    guard query.database == database else {
      throw StatusError(
        .invalidArgument, "The query is of \(query.database), and this is \(database).")
    }
    do throws(DocumentError) {
      try query.validate()
      _ = try DocumentQuery(query.target, in: database)
    } catch { throw StatusError(invalidArgument: error) }
  }

  /// Runs a query.
  ///
  /// - Parameters:
  ///   - share: the memory that the documents are counted in; nil where nobody counts.
  ///   - fields: what is needed of them; nil for everything.
  /// - Returns: its documents in its order, as they are stored, and as of when.
  /// - Throws: `resourceExhausted` when there is no room for them in the share.
  func run(
    _ query: DocumentQuery, _ credentials: Credentials, in share: ReadShare? = nil,
    fields: [FieldPath]? = nil
  ) async throws(StatusError) -> (documents: [Document], time: Timestamp) {
    let caller = try caller(credentials)
    try checkQuery(query)
    guard case .document(let path) = query.source else {
      try caller.require(.list(query.target), access)
      return try await read { (view) throws(StoreError) in
        (try view.documents(query, in: share, fields: fields), view.time)
      }
    }
    // Who may get the document gets it as it was when that was asked.
    let (document, found, time) = try await read { (view) throws(StoreError) in
      (try view.document(path), try view.documents(query, in: share), view.time)
    }
    try caller.require(.get(path, document.fields), access)
    return (found, time)
  }

  /// Computes numbers of what a query finds.
  func aggregate(
    _ query: DocumentQuery, _ aggregates: [Aggregate], _ credentials: Credentials
  ) async throws(StatusError) -> [DocumentValue] {
    try await compute(aggregates, of: query, credentials).values
  }

  /// Computes numbers of what a query finds.
  ///
  /// - Parameter skipped: how many of the first documents are left out.
  /// - Returns: a value for each aggregate, and as of when.
  func compute(
    _ aggregates: [Aggregate], of query: DocumentQuery, skipping skipped: Int = 0,
    _ credentials: Credentials, in share: ReadShare? = nil
  ) async throws(StatusError) -> (values: [DocumentValue], time: Timestamp) {
    do throws(DocumentError) { try Aggregate.check(aggregates) } catch {
      throw StatusError(invalidArgument: error)
    }
    let (found, time) = try await run(
      query, credentials, in: share, fields: aggregates.compactMap(\.field))
    do throws(DocumentError) {
      return (try Aggregate.evaluate(aggregates, over: found.dropFirst(skipped)), time)
    } catch { throw StatusError(invalidArgument: error) }
  }

  /// Makes writes whole or not at all; returns once they are stored.
  ///
  /// - Parameters:
  ///   - connection: the client's; nil for the server itself.
  ///   - reads: what must be as it was read; nil for writes without a transaction.
  nonisolated func commit(
    _ writes: [Mutation], _ credentials: Credentials, from connection: ConnectionID? = nil,
    reads: TransactionReads? = nil
  ) async throws(StatusError) -> CommitResult {
    try await make(writes, credentials, from: connection, reads: reads).result
  }

  /// Makes one write.
  ///
  /// - Returns: the document as the write left it, as it is stored; without its fields where the caller may not read
  ///   them.
  nonisolated func write(
    _ write: Mutation, _ credentials: Credentials, from connection: ConnectionID? = nil
  ) async throws(StatusError) -> Document {
    let made = try await make([write], credentials, from: connection, reads: nil)
    return await shown(made.documents.first ?? Document(write.path, .missing), to: credentials)
  }

  /// Makes writes one by one, each alone, in one go.
  ///
  /// - Returns: what became of each.
  nonisolated func commitEach(
    _ writes: [Mutation], _ credentials: Credentials, from connection: ConnectionID
  ) async throws(StatusError) -> [Result<MadeCommit, StatusError>] {
    let caller = try await caller(credentials)
    return await withCheckedContinuation { continuation in
      post(.commitEach(writes, caller, connection) { continuation.resume(returning: $0) })
    }
  }

  /// The document, without its fields where the caller may not read it, or no longer.
  private func shown(_ document: Document, to credentials: Credentials) -> Document {
    let isAllowed = (try? caller(credentials))?.may(.get(document.path, document.fields), access)
    if isAllowed == true || document.fields == nil { return document }
    return Document(
      document.path, .empty, made: document.creationTime, changed: document.version)
  }

  nonisolated private func make(
    _ writes: [Mutation], _ credentials: Credentials, from connection: ConnectionID?,
    reads: TransactionReads?
  ) async throws(StatusError) -> MadeCommit {
    let caller = try await caller(credentials)
    let result = await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<MadeCommit, StatusError>, Never>) in
      let told: @Sendable (Result<MadeCommit, StatusError>) -> Void = {
        continuation.resume(returning: $0)
      }
      post(
        .commit(
          writes,
          reads.map { .transaction($0, caller, connection, told) }
            ?? .caller(caller, connection, told)))
    }
    return try result.get()
  }

  /// Removes all documents; returns once that is stored, and listeners are told.
  nonisolated func removeAll(_ credentials: Credentials) async throws(StatusError) {
    let caller = try await caller(credentials)
    try await caller.requireListing(access)
    let error = await withCheckedContinuation { continuation in
      post(.clear { continuation.resume(returning: $0) })
    }
    if let error { throw error }
  }

  /// Who asks without a stream.
  enum Credentials: Sendable {
    case server
    case token(String?)
  }

  private func caller(_ credentials: Credentials) throws(StatusError) -> Caller {
    switch credentials {
    case .server: .server
    case .token(let token): try Caller(token, access, now: configuration.clock())
    }
  }

  private func read<R: Sendable>(
    _ body: (DatabaseStore.DatabaseView) throws(StoreError) -> R
  ) async throws(StatusError) -> R {
    let store = try await store()
    housekeeping?.used()
    do throws(StoreError) { return try store.read(body) } catch {
      if error.code == .tooLarge { throw ReadShare.exceeded }
      throw StatusError(failing: error)
    }
  }

  /// Returns once all that was asked for before is done.
  nonisolated func waitUntilIdle() async {
    await withCheckedContinuation { continuation in post(.waitUntilIdle { continuation.resume() }) }
  }

  /// Ends all streams.
  nonisolated func shutDown(_ error: StatusError) async {
    await withCheckedContinuation { continuation in
      post(.shutDown(error) { continuation.resume() })
    }
  }
}
