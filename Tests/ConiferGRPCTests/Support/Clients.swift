#if GRPC
  import ConiferDocument
  import ConiferEngine
  import ConiferFirestore
  import ConiferStorage
  import ConiferWire
  import GRPCCore
  import Logging
  import Testing

  @testable import ConiferGRPC

  /// A service on this machine.
  func service(
    _ port: Int, _ database: DatabaseID = DatabaseID(project: "test"), host: String = "127.0.0.1",
    isSecure: Bool = false, sleep: ScriptedSleep? = nil, appTokens: AppCheckTokens? = nil,
    interceptors: [any ClientInterceptor] = [],
    _ change: (inout GRPCOptions) -> Void = { _ in }
  ) throws -> GRPCService {
    var options = GRPCOptions()
    change(&options)
    let address = try #require(GRPCAddress("\(host):\(port)", isSecure: isSecure))
    guard let sleep else {
      return GRPCService(
        database, at: address, options, appTokens: appTokens, interceptors: interceptors)
    }
    return GRPCService(
      database, at: address, options, appTokens: appTokens, interceptors: interceptors,
      sleep: sleep.sleep)
  }

  /// An app's database over a service.
  func firestore(
    _ service: any DocumentService, _ database: DatabaseID = DatabaseID(project: "test"),
    clock: any EngineClock = PatientClock(), storage: StorageConfiguration = .memory(),
    tokens: (any TokenProvider)? = nil
  ) -> Firestore {
    var configuration = FirestoreConfiguration(
      projectID: database.project, databaseID: database.database, storage: storage,
      transport: DocumentTransport(service, description: "a test"))
    configuration.clock = clock
    configuration.housekeeping = .off
    configuration.tokenProvider = tokens
    configuration.logger.logLevel = .critical
    return Firestore(configuration)
  }

  extension DocumentReference {
    /// The first snapshot that is as wanted.
    func first(_ isWanted: (DocumentSnapshot) -> Bool) async throws -> DocumentSnapshot {
      for try await snapshot in snapshots(includeMetadataChanges: true) where isWanted(snapshot) {
        return snapshot
      }
      throw FirestoreError(.internal, "The sequence ended.")
    }
  }

  extension Query {
    /// The first snapshot that is as wanted.
    func first(_ isWanted: (QuerySnapshot) -> Bool) async throws -> QuerySnapshot {
      for try await snapshot in snapshots(includeMetadataChanges: true) where isWanted(snapshot) {
        return snapshot
      }
      throw FirestoreError(.internal, "The sequence ended.")
    }
  }

  extension QuerySnapshot {
    var ids: [String] { documents.map(\.documentID) }
    var isSynced: Bool { !metadata.isFromCache }
  }
#endif
