#if GRPC && Network
  import ConiferFirestore
  import ConiferLMDB
  import ConiferLog
  import ConiferSQLite
  import ConiferStorage
  import Dispatch
  import Logging
  import NetworkTestSupport
  import Synchronization
  import Testing

  import struct ConiferDocument.DatabaseID

  @testable import ConiferGRPC

  /// What outlives its process.
  enum DurableStore: String, CaseIterable, Codable, Sendable {
    case lmdb, sqlite, log

    func configuration(at directory: String) -> StorageConfiguration {
      switch self {
      case .lmdb: .lmdb(at: directory)
      case .sqlite: .sqlite(at: directory)
      case .log: .log(at: directory)
      }
    }
  }

  /// A client of Conifer's server at a port, in memory unless it has storage.
  ///
  /// - Parameter speed: how much faster its time passes, so that it waits less between attempts.
  func loadClient(
    _ port: Int, _ database: String = "load", speed: Int64 = 1,
    storage: StorageConfiguration = .memory()
  ) -> Firestore {
    var options = GRPCOptions()
    options.resumesWrites = true
    // No load of the machine has a stream end before the server has done what was sent.
    options.linger = .seconds(600)
    var configuration = FirestoreConfiguration.grpc(
      projectID: database, host: "127.0.0.1:\(port)", isSecure: false, storage: storage,
      options: options)
    configuration.clock = FastClock(speed)
    configuration.callbackQueue = .queue(DispatchQueue(label: "client"))
    configuration.logger.logLevel = .critical
    return Firestore(configuration)
  }

  /// The newest that a listener was told.
  final class Watch: Sendable {
    private struct State {
      var documents: [String: Int64]?
      var isSynced = false
      var wrong = 0
    }

    private let state = Mutex(State())
    private let listener = Mutex<(any ListenerRegistration)?>(nil)

    /// Listens to a query, of whose documents the field `n` counts; where it never falls, that is checked.
    init(_ query: Query, ascends: Bool = false) {
      let made = query.addSnapshotListener(includeMetadataChanges: true) {
        [weak self] snapshot, _ in
        guard let snapshot else { return }
        let numbers = snapshot.documents.map { ($0.documentID, $0.get("n") as? Int64 ?? -1) }
        self?.state.withLock { state in
          let documents = Dictionary(uniqueKeysWithValues: numbers)
          if ascends {
            state.wrong += documents.count { $0.value < state.documents?[$0.key] ?? 0 }
          }
          state.documents = documents
          state.isSynced = snapshot.isSynced && !snapshot.metadata.hasPendingWrites
        }
      }
      listener.withLock { $0 = made }
    }

    /// How many numbers came after greater ones.
    var wrong: Int { state.withLock { $0.wrong } }

    /// The documents with their numbers, if they are the server's.
    var synced: [String: Int64]? {
      state.withLock { $0.isSynced ? $0.documents : nil }
    }

    /// Returns when the documents are as wanted. When the suite's time limit ends the test before, which only a hang
    /// reaches, the test fails.
    func wait(
      for wanted: [String: Int64], _ what: String,
      sourceLocation: SourceLocation = #_sourceLocation
    ) async {
      while synced != wanted {
        do {
          try await Task.sleep(for: .milliseconds(5))
        } catch {
          let count = state.withLock { $0.documents?.count }
          Issue.record(
            "\(what): \(count ?? -1) documents of \(wanted.count)", sourceLocation: sourceLocation)
          return
        }
      }
    }

    func end() { listener.withLock { $0 }?.remove() }
  }

  extension Query {
    /// The documents of the server with their numbers. It waits for the server, where a get gives up after ten seconds, which
    /// connecting takes on a busy machine.
    func numbers() async throws -> [String: Int64] {
      let found = try await first(\.isSynced)
      return Dictionary(
        uniqueKeysWithValues: found.documents.map {
          ($0.documentID, $0.get("n") as? Int64 ?? -1)
        })
    }
  }
#endif
