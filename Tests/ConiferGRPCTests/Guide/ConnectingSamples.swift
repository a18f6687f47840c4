#if GRPC
  import ConiferEngine
  import ConiferFirestore
  import ConiferGRPC
  import ConiferSQLite
  import ConiferStorage
  import ConiferWire
  import Foundation
  import Synchronization
  import Testing

  /// The code of Docs/Connecting.md.
  enum ConnectingSamples {
    static func production(_ directory: String, _ signIn: any TokenProvider) -> Firestore {
      var configuration = FirestoreConfiguration.grpc(
        projectID: "my-app", databaseID: "(default)", host: "firestore.googleapis.com",
        tokenProvider: signIn, storage: .sqlite(at: directory))
      configuration.cacheSizeBytes = 50 << 20
      let db = Firestore(configuration)
      return db
    }

    static func emulator(_ directory: String) -> Firestore {
      let db = Firestore(.grpc(projectID: "my-app", storage: .sqlite(at: directory)))
      db.useEmulator(withHost: "localhost", port: 8080)
      return db
    }

    static func localServer(_ directory: String, port: Int) -> Firestore {
      var options = GRPCOptions()
      options.resumesWrites = true
      let db = Firestore(
        .grpc(
          projectID: "my-app", host: "localhost:\(port)", isSecure: false,
          storage: .sqlite(at: directory), options: options))
      return db
    }

    static func ownCertificate(_ directory: String, _ file: URL) throws -> Firestore {
      var options = GRPCOptions()
      options.trustedCertificates = [UInt8](try Data(contentsOf: file))
      let db = Firestore(
        .grpc(
          projectID: "my-app", host: "documents.example.com:8443",
          storage: .sqlite(at: directory), options: options))
      return db
    }

    /// What an app knows of its user.
    struct Session: Sendable {
      var user = "ada"
      var token = "t1"
      var end = Date(timeIntervalSince1970: 4_000_000_000)

      static let now = Mutex<Session?>(Session())

      static func current(refreshing: Bool) async throws -> Session? {
        now.withLock { session in
          if refreshing { session?.token += "'" }
          return session
        }
      }
    }

    struct SignIn: TokenProvider {
      func token(forcingRefresh: Bool) async throws -> AuthToken? {
        guard let session = try await Session.current(refreshing: forcingRefresh) else {
          return nil
        }
        let expiry = Int64(session.end.timeIntervalSince1970 * 1000)
        return AuthToken(session.token, identity: session.user, expiry: expiry)
      }
    }

    static func signOut(_ db: Firestore) {
      Session.now.withLock { $0 = nil }
      db.tokenDidChange()
    }

    static func cameToForeground(_ db: Firestore) async throws {
      try await db.disableNetwork()
      try await db.enableNetwork()
    }

    static func listen(_ db: Firestore, _ show: @escaping (String) -> Void)
      -> any ListenerRegistration
    {
      db.collection("rooms").addSnapshotListener(includeMetadataChanges: true) { snapshot, error in
        if let error = error as? FirestoreError, error.code == .permissionDenied {
          return show("You may not see these rooms.")
        }
        guard let snapshot else { return show(error?.localizedDescription ?? "") }
        show(snapshot.metadata.isFromCache ? "offline: \(snapshot.count) rooms" : "up to date")
      }
    }
  }
#endif
