public import ConiferKeyValue

/// The choice of a backend, with its location and options: a value that opens it.
///
/// Plugins add their own, such as `.lmdb(at:)` and `.sqlite(at:)`.
public struct StorageConfiguration: Sendable {
  /// The backend's name, as in URLs.
  public let name: String
  /// The directory of its files, or nil when it keeps none.
  public let location: String?
  /// The options that every backend takes.
  public private(set) var options: StorageOptions
  /// How a damaged store of this kind is salvaged, or nil when nothing is known of its files.
  package let salvage: SalvageMethod?
  /// Opens the files for reading beside their owner; nil for kinds that cannot be read so.
  package let reading: Reading?
  /// Which names are those of its files; nil for kinds that do not tell.
  let files: FileNames?
  private var opener: @Sendable (StorageOptions) throws(StoreError) -> any StorageBackend

  /// Opens a store's directory for reading beside its owner, without making or changing anything in it that
  /// its owner could notice.
  public typealias Reading = @Sendable (_ directory: String) throws(StoreError) -> any ReadableStore

  /// Whether a name in a store's directory is that of a file which stores of the kind make there, such as a journal of SQLite
  /// beside its database; those of ``OwnerLock`` and of what every backend keeps do not count.
  public typealias FileNames = @Sendable (_ name: String) -> Bool

  /// A configuration, as a plugin or a backend from outside the package makes it.
  ///
  /// - Parameters:
  ///   - name: the backend's name, as in URLs.
  ///   - location: the directory of its files, or nil when it keeps none.
  ///   - options: the options that every backend takes.
  ///   - salvage: how a damaged store of this kind is salvaged, if it can be.
  ///   - reading: opens the store for reading beside its owner; nil where that cannot be done, so that
  ///     ``openReader()`` refuses.
  ///   - files: which names are those of its files; nil when it does not tell, so that ``StorageMigration`` moves the store,
  ///     and leaves the earlier files to the app.
  ///   - open: opens the backend with the options it is given, which may be others than these; called
  ///     once for each `open()`.
  public init(
    name: String, location: String?, options: StorageOptions, salvage: SalvageMethod? = nil,
    reading: Reading? = nil, files: FileNames? = nil,
    open: @escaping @Sendable (StorageOptions) throws(StoreError) -> any StorageBackend
  ) {
    self.name = name
    self.location = location
    self.options = options
    self.salvage = salvage
    self.reading = reading
    self.files = files
    self.opener = open
  }

  /// Opens the backend; its files are made if there are none, and never deleted.
  ///
  /// - Throws: `busy`, `denied`, `full`, `io`, `damaged`, `newerFormat`, `foreign`, `invalid`.
  public func open() throws(StoreError) -> any StorageBackend {
    // An exchange of stores that `openOrSalvage` began, and that its process did not live to
    // finish.
    if let root { _ = try StoreExchange.finish(root) }
    var options = options
    options.markDirectory = root
    return try opener(options)
  }

  /// The same storage with other options.
  public func with(_ options: StorageOptions) -> StorageConfiguration {
    var other = self
    other.options = options
    return other
  }

  /// The same storage, opened in another way.
  package func opened(
    by open: @escaping @Sendable (StorageOptions) throws(StoreError) -> any StorageBackend
  ) -> StorageConfiguration {
    var other = self
    other.opener = open
    return other
  }

  /// The directory without slashes at its end.
  var root: String? {
    guard var path = location else { return nil }
    while path.utf8.count > 1, path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
    return path
  }
}
