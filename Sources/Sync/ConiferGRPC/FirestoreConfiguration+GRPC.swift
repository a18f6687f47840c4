#if GRPC
  import ConiferDocument
  public import ConiferEngine
  public import ConiferFirestore
  public import ConiferStorage
  public import ConiferWire

  extension FirestoreConfiguration {
    /// A database of a server that speaks Firestore's protocol over gRPC.
    ///
    /// ```swift
    /// Firestore.configure(
    ///   .grpc(projectID: "my-app", tokenProvider: signIn, storage: .sqlite(at: directory)))
    /// ```
    ///
    /// - Parameters:
    ///   - projectID: the project's id on the server.
    ///   - databaseID: the database's id within the project.
    ///   - host: the host, with its port if it is not 443, or 80 without encryption.
    ///   - isSecure: whether connections are encrypted.
    ///   - tokenProvider: where tokens come from; nil to be nobody.
    ///   - appCheckProvider: where tokens of the app itself come from; nil for none.
    ///   - storage: where data is kept; nil for memory.
    ///   - options: times, trust and headers of the connection.
    public static func grpc(
      projectID: String, databaseID: String = "(default)",
      host: String = DocumentTransport.googleHost, isSecure: Bool = true,
      tokenProvider: (any TokenProvider)? = nil,
      appCheckProvider: (any AppCheckProvider)? = nil, storage: StorageConfiguration? = nil,
      options: GRPCOptions = GRPCOptions()
    ) -> FirestoreConfiguration {
      let database = DatabaseID(project: projectID, database: databaseID)
      var configuration = FirestoreConfiguration(
        projectID: projectID, databaseID: databaseID, storage: storage,
        transport: .grpc(
          to: database, host: host, isSecure: isSecure, options: options,
          appCheckProvider: appCheckProvider))
      configuration.tokenProvider = tokenProvider
      return configuration
    }
  }
#endif
