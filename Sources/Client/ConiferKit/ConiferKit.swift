import CConiferKit
// One import for apps: the clients of both models, their storage and the way to a server.
@_exported public import Conifer
@_exported public import ConiferFirestore
@_exported public import ConiferSQLite

#if GRPC
  import ConiferDocument
  @_exported public import ConiferGRPC
#endif
#if WebSocket
  @_exported public import ConiferWebSocket
#endif

/// Sets the defaults of `Database.database()` and `Firestore.firestore()`; called once, before `main`.
///
/// It keeps four functions, and does nothing else: little of a program runs at that time.
@_cdecl("conifer_kit_load")
func load() {
  AppDefaults.install(
    AppDefaults(
      storage: { configuration in
        .sqlite(at: AppDirectory.current.path(of: configuration), options: configuration.options)
          .excludedFromBackups(configuration.transport != nil)
      },
      transport: { host, isSecure in
        #if WebSocket
          .webSocket("\(isSecure ? "wss" : "ws")://\(host)")
        #else
          nil
        #endif
      }))
  FirestoreDefaults.install(
    FirestoreDefaults(
      storage: { configuration in
        .sqlite(at: AppDirectory.current.path(of: configuration), options: configuration.options)
          .excludedFromBackups(configuration.transport != nil)
      },
      transport: { configuration in
        #if GRPC
          .grpc(
            to: DatabaseID(project: configuration.projectID, database: configuration.databaseID))
        #else
          nil
        #endif
      }))
}

extension Database {
  /// Names the server of the app's common database; to be called once, before `database()`.
  ///
  /// The Apple SDK reads it from a file. Without this call `database()` stays offline, and keeps its
  /// data; so it does where the package is built without its trait `WebSocket`.
  ///
  /// - Parameter url: such as `https://my-app.example.com` or `http://localhost:9000?ns=my-app`. An
  ///   invalid one is logged as an error, and names no server.
  public static func configure(url: String) {
    configureCommon(url: url)
  }
}
