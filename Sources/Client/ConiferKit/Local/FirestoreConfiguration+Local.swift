public import ConiferFirestore
import ConiferKeyValue
import ConiferSQLite
public import ConiferStorage

extension FirestoreConfiguration {
  /// A database of documents without a server: its own store is the authority.
  ///
  /// Everything is complete there: gets answer, listeners come with `isFromCache` false, queries, aggregates and
  /// transactions work, and server timestamps are filled in. A write that was awaited, or whose block was called, is in
  /// the store, as durable as the options ask for; one that was not is lost if the process is killed.
  ///
  /// There are no rules and no users: a `tokenProvider` beside it is left out, as a mistake that `validate()` tells.
  ///
  /// ```swift
  /// let db = Firestore(.local())
  /// ```
  ///
  /// - Parameters:
  ///   - projectID: the database's name, as that of a project; not empty, without a slash.
  ///   - databaseID: its id within the project; not empty, without a slash.
  ///   - storage: where the documents are kept; nil for SQLite in the app's own directory, one for each database. It is
  ///     opened as an authority, so that nothing is ever evicted; a second opener gets `unavailable`.
  public static func local(
    _ projectID: String = "default", databaseID: String = "(default)",
    storage: StorageConfiguration? = nil
  ) -> FirestoreConfiguration {
    var configuration = FirestoreConfiguration(projectID: projectID, databaseID: databaseID)
    configuration.localAuthority = { configuration in
      ServerAuthority(configuration.authorityStorage) { (backend) throws(StoreError) in
        try await LocalDocumentServer(configuration, backend)
      }
    }
    let standard = StorageConfiguration.sqlite(at: AppDirectory.current.path(of: configuration))
    configuration.storage = storage ?? standard
    configuration.options = (storage ?? standard).options
    return configuration
  }
}
