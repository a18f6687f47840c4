import ConiferDocument
import ConiferKeyValue
import ConiferWire

// Requests without a stream. Reads see the newest stored commit, and wait for nobody.
extension DatabaseHost {
  /// Reads documents, each found or missing, in the order of their paths.
  func lookup(
    _ paths: [DocumentPath], _ credentials: Credentials
  ) async throws(StatusError) -> [Document] {
    let caller = try caller(credentials)
    let documents = try await read { (view) throws(StoreError) in
      var found: [Document] = []
      for path in paths where (try? path.validate()) != nil {
        found.append(try view.document(path))
      }
      return found.map { ($0, $0.told(at: view.time)) }
    }
    guard documents.count == paths.count else {
      for path in paths {
        do throws(DocumentError) { try path.validate() } catch {
          throw StatusError(refusing: error)
        }
      }
      return []
    }
    for (document, _) in documents {
      try caller.require(.get(document.path, document.fields), access)
    }
    return documents.map(\.1)
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
    let found = try await run(query, credentials).documents
    do throws(DocumentError) { return try Aggregate.evaluate(aggregates, over: found) } catch {
      throw StatusError(refusing: error)
    }
  }

  /// Makes writes whole or not at all; returns once they are stored.
  ///
  /// - Parameter connection: the client's; nil for the server itself.
  nonisolated func commit(
    _ writes: [Mutation], _ credentials: Credentials, from connection: ConnectionID? = nil
  ) async throws(StatusError) -> CommitResult {
    let caller = try await caller(credentials)
    let result = await withCheckedContinuation { continuation in
      post(.commit(writes, .caller(caller, connection) { continuation.resume(returning: $0) }))
    }
    return try result.get()
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
