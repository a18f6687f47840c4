import ConiferDocument
import ConiferDocumentServer
import ConiferFirestore
import ConiferKeyValue
import ConiferStorage
import ConiferWire

/// A server of documents for one database, and the way to it.
struct LocalDocumentServer: LocalServer {
  private let server: DocumentServer
  private let link: DocumentLink
  /// The database, for its client.
  let service: any DocumentService

  /// A server with what the store has; a store without the database gets its tree, so that indexes can be declared.
  ///
  /// - Throws: as the store's reads, and as its commits when it does not have the database.
  init(
    _ configuration: FirestoreConfiguration, _ backend: any StorageBackend
  ) async throws(StoreError) {
    let database = DatabaseID(
      project: configuration.projectID, database: configuration.databaseID)
    var settings = DocumentServerConfiguration(logger: configuration.logger)
    settings.housekeeping = configuration.housekeeping
    server = try DocumentServer(in: backend, settings)
    _ = try await backend.keepingDocuments().tree(named: "\(database)", order: .documents)
    link = DocumentLink(to: database, of: server)
    service = link.transport.service
  }

  var treeName: String { "\(link.database)" }
  var housekeeping: HousekeepingRunner? { server.housekeeping }

  func settle() async {
    await link.waitUntilDelivered()
    await server.waitUntilIdle()
  }

  func end() async {
    // The store is not its own, and so nothing is thrown.
    try? await server.close()
  }
}

extension ServerAuthority: DocumentService where Server == LocalDocumentServer {
  func openWatch(
    token: String?, _ receive: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any WatchStream {
    server?.service.openWatch(token: token, receive) ?? StreamNowhere { receive(.closed($0)) }
  }

  func openWrites(
    token: String?, _ receive: @escaping @Sendable (WriteStreamEvent) -> Void
  ) -> any WriteStream {
    server?.service.openWrites(token: token, receive) ?? StreamNowhere { receive(.closed($0)) }
  }

  func lookup(_ paths: [DocumentPath], token: String?) async throws(StatusError) -> [Document] {
    try await serving().lookup(paths, token: token)
  }

  func commit(_ writes: [Mutation], token: String?) async throws(StatusError) -> CommitResult {
    try await serving().commit(writes, token: token)
  }

  func aggregate(
    _ query: DocumentQuery, _ aggregates: [Aggregate], token: String?
  ) async throws(StatusError) -> [DocumentValue] {
    try await serving().aggregate(query, aggregates, token: token)
  }

  private func serving() throws(StatusError) -> any DocumentService {
    guard let server else { throw StreamNowhere.closed }
    return server.service
  }
}

/// A stream to a database that is closed.
private final class StreamNowhere: WatchStream, WriteStream {
  static let closed = StatusError(
    .unavailable, "The database was closed. Open the database again.")

  init(_ tell: @escaping @Sendable (StatusError) -> Void) {
    // Never from within the call that opens a stream.
    Task { tell(Self.closed) }
  }

  func add(_ target: WatchTarget) {}
  func remove(_ target: TargetID) {}
  func greet(token: [UInt8]) {}
  func send(_ writes: [Mutation], batch: Int64?, token: [UInt8]) {}
  func close() {}
}
