public import ConiferKeyValue

/// Which backend stores the data, where, and how: a value that opens it.
///
/// Plugins add their own, such as `.lmdb(at:)` and `.sqlite(at:)`.
public struct StorageConfiguration: Sendable {
  /// The backend's name, as in URLs.
  public let name: String
  /// The directory of its files, or nil when it keeps none.
  public let location: String?
  /// The options that every backend takes.
  public let options: StorageOptions
  private let opener: @Sendable () throws(StoreError) -> any StorageBackend

  /// A configuration, as a plugin or a backend from outside the package makes it.
  ///
  /// - Parameters:
  ///   - name: the backend's name, as in URLs.
  ///   - location: the directory of its files, or nil when it keeps none.
  ///   - options: the options that every backend takes.
  ///   - open: opens the backend; called once for each `open()`.
  public init(
    name: String, location: String?, options: StorageOptions,
    open: @escaping @Sendable () throws(StoreError) -> any StorageBackend
  ) {
    self.name = name
    self.location = location
    self.options = options
    self.opener = open
  }

  /// Opens the backend; its files are made if there are none, and never deleted.
  ///
  /// - Throws: `busy`, `denied`, `full`, `io`, `damaged`, `newerFormat`, `foreign`, `invalid`.
  public func open() throws(StoreError) -> any StorageBackend { try opener() }
}
