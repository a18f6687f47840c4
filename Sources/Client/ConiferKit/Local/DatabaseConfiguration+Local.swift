public import Conifer
import ConiferKeyValue
import ConiferSQLite
public import ConiferStorage

extension DatabaseConfiguration {
  /// A database without a server: its own store is the authority.
  ///
  /// Everything is complete there: observers get `.value`, `getData` and queries answer, transactions commit, and server
  /// values are filled in. A write that was awaited, or whose block was called, is in the store, as durable as the options
  /// ask for; one that was not is lost if the process is killed. All data is in memory while the database is open.
  ///
  /// There are no rules and no users: a `tokenProvider` or `appCheckProvider` beside it is left out, as a mistake that
  /// `validate()` tells.
  ///
  /// ```swift
  /// let database = Database(.local())
  /// ```
  ///
  /// - Parameters:
  ///   - namespace: the database's name; 1 to 256 UTF-8 bytes.
  ///   - storage: where the data is kept; nil for SQLite in the app's own directory, one for each name. It is opened
  ///     as an authority, so that nothing is ever evicted; a second opener gets `storageBusy`.
  public static func local(
    _ namespace: String = "default", storage: StorageConfiguration? = nil
  ) -> DatabaseConfiguration {
    let standard = StorageConfiguration.sqlite(at: AppDirectory.current.localPath(of: namespace))
    var configuration = DatabaseConfiguration(namespace: namespace, storage: storage ?? standard)
    configuration.isPersistenceEnabled = true
    configuration.localAuthority = { configuration in
      ServerAuthority(configuration.authorityStorage) { (backend) throws(StoreError) in
        try await LocalTreeServer(configuration, backend)
      }
    }
    return configuration
  }
}
