#if GRPC
  import ConiferFirestore
  import ConiferGRPC
  import ConiferSQLite
  import ConiferStorage
  import ConiferWire

  /// The code of Docs/Firestore.md that connects.
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
  }
#endif
