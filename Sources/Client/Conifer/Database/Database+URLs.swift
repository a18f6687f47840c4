public import ConiferStorage
public import ConiferWire
public import Foundation

// URLs as Foundation has them, wherever one is taken as text.
extension Database {
  /// The app's database with a URL, as ``database(url:)-(String)`` gives it.
  ///
  /// - Parameter url: such as `https://other.example.com`. One that is invalid is logged as an
  ///   error, and gives the common database.
  public static func database(url: URL) -> Database { database(url: url.absoluteString) }

  /// The place that a URL of this database names.
  ///
  /// - Parameter databaseURL: such as `https://my-app.example.com/rooms/r1`; one of another database
  ///   makes a reference whose use tells the error.
  public func reference(fromURL databaseURL: URL) -> DatabaseReference {
    reference(fromURL: databaseURL.absoluteString)
  }
}

extension DatabaseConfiguration {
  /// A configuration for the database that a URL names.
  ///
  /// - Parameters:
  ///   - url: such as `https://my-app.example.com` or `http://localhost:9000?ns=my-app`.
  ///   - storage: where data is kept; nil for memory.
  ///   - transport: the way to the server; nil to stay offline.
  /// - Throws: `invalidURL`.
  public init(
    url: URL, storage: StorageConfiguration? = nil, transport: (any Transport)? = nil
  ) throws(DatabaseError) {
    try self.init(url: url.absoluteString, storage: storage, transport: transport)
  }
}
