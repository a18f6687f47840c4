#if Network && GRPC
  import ConiferDocument
  import ConiferFirestore
  import ConiferGRPC
  import ConiferStorage
  import Logging

  /// A client of documents over gRPC, with what the demo looks at.
  struct DocumentDemoClient {
    typealias Fields = DocumentDemoState.Fields

    static let database = DatabaseID(project: DemoStores.namespace)

    let firestore: Firestore

    /// Opens it; it opens its store when it is first used.
    ///
    /// - Parameters:
    ///   - port: where on this machine the server is, or the network before it.
    ///   - storage: where its data is kept; in memory by default.
    init(port: Int, storage: StorageConfiguration = .memory()) {
      var options = GRPCOptions()
      // The server knows by the token of the last stream which batches it has made.
      options.resumesWrites = true
      var configuration = FirestoreConfiguration.grpc(
        projectID: DemoStores.namespace, host: "127.0.0.1:\(port)", isSecure: false,
        storage: storage, options: options)
      // That the server cannot be reached is what the demo is about.
      configuration.logger.logLevel = .error
      firestore = Firestore(configuration)
    }

    /// What the demo listens to: the three tallest dinosaurs.
    var tallest: Query {
      firestore.collection("dinosaurs").order(by: "height", descending: true).limit(to: 3)
    }

    func close() async throws { try await firestore.terminate() }

    /// Attempts to reach the server at once, as an app does when the system tells of a network.
    func reconnect() async throws {
      try await firestore.disableNetwork()
      try await firestore.enableNetwork()
    }

    // MARK: Reading

    /// What a listener is told first.
    func first(_ query: Query) async throws -> QuerySnapshot {
      try await first(query, "a listener's first event") { _ in true }
    }

    /// What a listener is told once the server has said all, and has all that was written here.
    func synced(_ query: Query) async throws -> QuerySnapshot {
      try await first(query, "the server's word on a query") {
        !$0.metadata.isFromCache && !$0.metadata.hasPendingWrites
      }
    }

    /// Returns once a listener was told that a collection has these documents, and no others.
    func hears(_ documents: [String: Fields], in collection: String) async throws {
      _ = try await first(firestore.collection(collection), "what others wrote to \(collection)") {
        DocumentDemoState.documents($0) == documents
      }
    }

    private func first(
      _ query: Query, _ what: String, _ isWanted: @escaping @Sendable (QuerySnapshot) -> Bool
    ) async throws -> QuerySnapshot {
      try await Patience.wait(for: what) {
        for try await snapshot in query.snapshots(includeMetadataChanges: true)
        where isWanted(snapshot) { return snapshot }
        throw Failure("closed", .internal, "The client ended before it told a listener.")
      }
    }

    /// All waiting and refused writes, oldest first.
    func queue() async throws -> [PendingWriteBatch] {
      var queue: [PendingWriteBatch] = []
      while true {
        let window = try await firestore.pendingWrites(after: queue.last?.id, limit: 500)
        if window.isEmpty { return queue }
        queue += window
      }
    }

    /// Documents as a server has them, of which a new client without cached data asks it.
    static func documents(
      in collections: [String], ofServerAt port: Int
    ) async throws -> [String: Fields] {
      let client = DocumentDemoClient(port: port)
      var documents: [String: Fields] = [:]
      for collection in collections {
        // A get of the server would fail on a machine that is too busy to connect in time.
        let snapshot = try await client.synced(client.firestore.collection(collection))
        documents.merge(DocumentDemoState.documents(snapshot)) { $1 }
      }
      try await client.close()
      return documents
    }
  }
#endif
