import ConiferDocument
import ConiferKeyValue
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
  func find(
    _ paths: [DocumentPath], _ credentials: Credentials
  ) async throws(StatusError) -> (documents: [Document], time: Timestamp) {
    let caller = try caller(credentials)
    for path in paths {
      do throws(DocumentError) { try path.validate() } catch { throw StatusError(refusing: error) }
    }
    let (documents, time) = try await read { (view) throws(StoreError) in
      // A document that is asked for many times is read, and held, once.
      var known: [DocumentPath: Document] = [:]
      var found: [Document] = []
      for path in paths {
        let document = if let read = known[path] { read } else { try view.document(path) }
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
    of collection: CollectionPath, after last: DocumentPath?, limit: Int,
    _ credentials: Credentials
  ) async throws(StatusError) -> (documents: [Document], time: Timestamp) {
    try caller(credentials).requireListing(access)
    return try await read { (view) throws(StoreError) in
      (try view.children(of: collection, after: last, limit: limit), view.time)
    }
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

  /// Runs a query.
  ///
  /// - Returns: its documents in its order, as they are stored, and as of when.
  func run(
    _ query: DocumentQuery, _ credentials: Credentials
  ) async throws(StatusError) -> (documents: [Document], time: Timestamp) {
    let caller = try caller(credentials)
    guard query.database == database else {
      throw StatusError(
        .invalidArgument, "The query is of \(query.database), and this is \(database).")
    }
    do throws(DocumentError) {
      try query.validate()
      _ = try DocumentQuery(query.target, in: database)
    } catch { throw StatusError(refusing: error) }
    guard case .document(let path) = query.source else {
      try caller.require(.list(query.target), access)
      return try await read { (view) throws(StoreError) in (try view.documents(query), view.time) }
    }
    // Who may get the document gets it as it was when that was asked.
    let (document, found, time) = try await read { (view) throws(StoreError) in
      (try view.document(path), try view.documents(query), view.time)
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
    _ credentials: Credentials
  ) async throws(StatusError) -> (values: [DocumentValue], time: Timestamp) {
    let (found, time) = try await run(query, credentials)
    do throws(DocumentError) {
      return (try Aggregate.evaluate(aggregates, over: found.dropFirst(skipped)), time)
    } catch { throw StatusError(refusing: error) }
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
    let caller = try await caller(credentials)
    let result = await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<CommitResult, StatusError>, Never>) in
      let told: @Sendable (Result<CommitResult, StatusError>) -> Void = {
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
    do throws(StoreError) { return try store.read(body) } catch {
      throw StatusError(failing: error)
    }
  }

  /// Returns once all that was asked for before is done.
  nonisolated func settle() async {
    await withCheckedContinuation { continuation in post(.settle { continuation.resume() }) }
  }

  /// Ends all streams.
  nonisolated func shutDown(_ error: StatusError) async {
    await withCheckedContinuation { continuation in
      post(.shutDown(error) { continuation.resume() })
    }
  }
}
