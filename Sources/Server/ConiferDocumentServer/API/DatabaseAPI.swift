package import ConiferDocument
package import ConiferWire

/// The requests that a network front makes of a database, besides streams, for the owner of a
/// token.
///
/// A database is not made by reading it.
package struct DatabaseAPI: Sendable {
  package let server: DocumentServer
  package let database: DatabaseID
  let token: String?

  /// - Parameter token: what the client showed; nil for none.
  package init(_ server: DocumentServer, _ database: DatabaseID, token: String?) {
    self.server = server
    self.database = database
    self.token = token
  }

  // MARK: Reading

  /// Reads documents, found or missing, in the order of their paths.
  package func documents(
    _ paths: [DocumentPath], _ moment: ReadMoment = .newest
  ) async throws(StatusError) -> ReadResult<[Document]> {
    try await read(moment) { host, credentials, share throws(StatusError) in
      let (found, time) = try await host.find(paths, credentials, in: share)
      return (found.map(\.answered), time, TransactionReads(found))
    }
  }

  /// The documents of a query, in its order.
  package func documents(
    _ query: DocumentQuery, _ moment: ReadMoment = .newest
  ) async throws(StatusError) -> ReadResult<[Document]> {
    try await read(moment) { host, credentials, share throws(StatusError) in
      let (found, time) = try await host.run(query, credentials, in: share)
      return (found.map(\.answered), time, TransactionReads(query.target, at: time))
    }
  }

  /// Numbers of what a query finds, without so many of the first documents: a value for each aggregate, in their order.
  package func aggregate(
    _ query: DocumentQuery, skipping skipped: Int = 0, _ aggregates: [Aggregate],
    _ moment: ReadMoment = .newest
  ) async throws(StatusError) -> ReadResult<[DocumentValue]> {
    try await read(moment) { host, credentials, share throws(StatusError) in
      let (values, time) = try await host.compute(
        aggregates, of: query, skipping: skipped, credentials, in: share)
      return (values, time, TransactionReads(query.target, at: time))
    }
  }

  /// Reads, and remembers for a transaction what was read.
  func read<R: Sendable>(
    _ moment: ReadMoment,
    _ body:
      @escaping @Sendable (DatabaseHost, DatabaseHost.Credentials, ReadShare)
      async throws(StatusError) -> (R, Timestamp, TransactionReads)
  ) async throws(StatusError) -> ReadResult<R> {
    let transactions = server.transactions
    let owner = try caller().user?.id
    var (id, begun): ([UInt8]?, [UInt8]?)
    var past: Timestamp?
    switch moment {
    case .newest: break
    case .past(let time): past = time
    case .transaction(let name):
      if case .readOnly(let time) = try transactions.require(name, in: database, by: owner).kind {
        past = time
      }
      id = name
    case .beginning(let kind):
      if case .readOnly(let time) = kind { past = time }
      begun = try transactions.begin(database, kind, by: owner)
      id = begun
    }
    do throws(StatusError) {
      let credentials = DatabaseHost.Credentials.token(token)
      let share = ReadShare(of: server.readMemory)
      let (value, time, reads) = try await server.using(database) { host throws(StatusError) in
        try await body(host, credentials, share)
      }
      if let past { try check(past, newest: time) }
      if let id { try transactions.note(reads, in: id) }
      return ReadResult(value: value, time: time, transaction: begun, share: share)
    } catch {
      if let begun { transactions.end(begun, in: database, by: owner) }
      throw error
    }
  }

  private func check(_ past: Timestamp, newest: Timestamp) throws(StatusError) {
    if past > server.clock() {
      throw StatusError(
        .invalidArgument, "The read time is in the future. Read as of now, without one.")
    }
    guard newest <= past else {
      throw StatusError(
        .failedPrecondition,
        "The past is not kept: the newest commit was later than the read time. Read as of now, without one."
      )
    }
  }

  // MARK: Writing

  /// Makes writes whole or not at all.
  ///
  /// - Parameter transaction: the transaction that they end, whatever comes of them; nil for none.
  /// - Throws: `aborted` when something that the transaction has read was changed.
  package func commit(
    _ writes: [Mutation], in transaction: [UInt8]? = nil
  ) async throws(StatusError) -> CommitResult {
    let owner = try caller().user?.id
    var reads: TransactionReads?
    if let transaction {
      let open = try server.transactions.take(transaction, in: database, by: owner)
      if open.kind != .readWrite, !writes.isEmpty {
        throw StatusError(
          .invalidArgument, "A transaction that only reads has writes. Begin another kind of one.")
      }
      // Other documents may have been changed since the earlier time at which the transaction read.
      if case .readOnly(_?) = open.kind {} else { reads = open.reads }
    }
    let credentials = DatabaseHost.Credentials.token(token)
    return try await server.using(database) { [reads] host throws(StatusError) in
      try await host.commit(
        writes, credentials, from: .api(of: owner), reads: reads)
    }
  }

  /// Makes one write.
  ///
  /// - Returns: the document as the write left it, found or missing, whatever others have done since. It has no fields
  ///   where the caller may write it and not read it.
  package func write(_ write: Mutation) async throws(StatusError) -> Document {
    let owner = try caller().user?.id
    let credentials = DatabaseHost.Credentials.token(token)
    return try await server.using(database) { host throws(StatusError) in
      try await host.write(write, credentials, from: .api(of: owner)).answered
    }
  }

  /// Makes writes one by one, in any order, each alone.
  ///
  /// - Returns: what became of each.
  /// - Throws: `invalidArgument` when two are to one document, `unauthenticated` when the token is none of the server's.
  package func commitEach(
    _ writes: [Mutation]
  ) async throws(StatusError) -> [Result<WriteResult, StatusError>] {
    let owner = try caller().user?.id
    guard Set(writes.map(\.path)).count == writes.count else {
      throw StatusError(
        .invalidArgument, "Two writes of a batch are to one document. Write each document once.")
    }
    let credentials = DatabaseHost.Credentials.token(token)
    return try await server.using(database) { host throws(StatusError) in
      try await host.commitEach(writes, credentials, from: .api(of: owner)).map { answer in
        answer.map { $0.result.results.first ?? WriteResult(updateTime: nil) }
      }
    }
  }

  /// Removes all documents.
  package func removeAll() async throws(StatusError) {
    let credentials = DatabaseHost.Credentials.token(token)
    try await server.using(database) { host throws(StatusError) in
      try await host.removeAll(credentials)
    }
  }

  // MARK: Transactions

  /// Begins a transaction. Its reads are remembered, and its commit is made only while nothing of them has changed.
  ///
  /// It is the user's that the token stands for: others do not know it.
  package func begin(_ kind: TransactionKind) throws(StatusError) -> [UInt8] {
    try server.transactions.begin(database, kind, by: try caller().user?.id)
  }

  /// Ends a transaction without writes; one that has ended stays so.
  ///
  /// - Throws: `unauthenticated` when the token is none of the server's.
  package func rollBack(_ transaction: [UInt8]) throws(StatusError) {
    server.transactions.end(transaction, in: database, by: try caller().user?.id)
  }

  /// Who asks.
  private func caller() throws(StatusError) -> Caller {
    try Caller(token, server.access, now: server.clock())
  }
}
