import ConiferDocument
import ConiferDocumentServer
import ConiferFirestore
import Logging
import Synchronization

/// A client of documents and its server in one process, each over a store of its own, and what leads from one to the
/// other.
struct DocumentDemoPair {
  static let database = DatabaseID(project: DemoStores.namespace)

  let server: DocumentServer
  let link: DocumentLink
  let client: Firestore

  /// Opens both; the client opens its store when it is first used.
  ///
  /// - Parameter isReachable: whether the client reaches the server at first.
  init(_ stores: DemoStores, isReachable: Bool) throws {
    server = try Self.server(stores)
    link = DocumentLink(to: Self.database, of: server)
    link.isReachable = isReachable
    var configuration = FirestoreConfiguration(
      projectID: DemoStores.namespace, storage: try stores.storage(stores.client),
      transport: link.transport)
    // That the server cannot be reached is what the demo is about.
    configuration.logger.logLevel = .error
    client = Firestore(configuration)
  }

  /// The server alone.
  static func server(_ stores: DemoStores) throws -> DocumentServer {
    try DocumentServer(
      DocumentServerConfiguration(
        storage: stores.storage(stores.server), access: DocumentAccess(allows: { allows($1) })))
  }

  /// Everybody may do everything but write a secret.
  private static func allows(_ request: DocumentRequest) -> Bool {
    guard case .write(let path, _, _) = request else { return true }
    return path.description != DocumentDemoWrites.secret
  }

  /// From the middle of the queue on, answers of the server do not arrive any more.
  ///
  /// - Parameter count: how many documents are written before.
  /// - Returns: what is told when that is so.
  func holdAnswers(after count: Int) -> AsyncStream<Void> {
    let (held, isHeld) = AsyncStream.makeStream(of: Void.self)
    let written = Mutex(0)
    let link = link
    server.setAccess(
      DocumentAccess(allows: { _, request in
        if case .write = request,
          written.withLock({
            $0 += 1; return $0 == count
          })
        {
          link.hold(.toClient)
          isHeld.yield()
        }
        return Self.allows(request)
      }))
    return held
  }

  /// Ends both in good order.
  func close() async throws {
    try await client.terminate()
    try await server.close()
  }

  // MARK: Reading

  /// What the demo listens to: the three tallest dinosaurs.
  var tallest: Query {
    client.collection("dinosaurs").order(by: "height", descending: true).limit(to: 3)
  }

  /// What a listener is told first.
  func first(_ query: Query) async throws -> QuerySnapshot {
    try await first(query) { _ in true }
  }

  /// What a listener is told once the server has said all, and has all that was written here.
  func synced(_ query: Query) async throws -> QuerySnapshot {
    try await first(query) { !$0.isFromCache && !$0.hasPendingWrites }
  }

  private func first(
    _ query: Query, _ isWanted: (SnapshotMetadata) -> Bool
  ) async throws -> QuerySnapshot {
    for try await snapshot in query.snapshots(includeMetadataChanges: true)
    where isWanted(snapshot.metadata) { return snapshot }
    throw Failure("closed", .internal, "The client ended before it told a listener.")
  }

  /// All waiting and refused writes, oldest first.
  func queue() async throws -> [PendingWriteBatch] {
    var queue: [PendingWriteBatch] = []
    while true {
      let window = try await client.pendingWrites(after: queue.last?.id, limit: 500)
      if window.isEmpty { return queue }
      queue += window
    }
  }
}
