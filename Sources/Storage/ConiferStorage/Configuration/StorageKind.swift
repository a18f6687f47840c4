public import ConiferKeyValue

/// A kind of backend that can be named in URLs: `lmdb:///path?budget=10MB&compression=zstd:5`.
public struct StorageKind: Sendable {
  /// An option that a URL of this kind of backend may name.
  public struct Option: Hashable, Sendable {
    /// The name in the URL's query.
    public let name: String
    /// The values it takes and what it does, in one line.
    public let help: String

    /// An option that a URL may name.
    public init(_ name: String, _ help: String) {
      self.name = name
      self.help = help
    }
  }

  /// The URL's scheme.
  public let name: String
  /// The options beside those that every backend takes.
  public let options: [Option]
  /// Whether a URL must name a directory.
  package let needsPath: Bool
  /// The names of which one at least stands in the directory of every store of this kind, so that
  /// a program can tell whether, and of which kind, a store is there without opening it.
  package let files: [String]
  /// The library that keeps the bytes, with its version; nil where there is none, or it does not say.
  package private(set) var library: String?
  let make: @Sendable (StorageURL, StorageOptions) throws(StoreError) -> StorageConfiguration

  /// A kind of backend.
  ///
  /// - Parameters:
  ///   - name: the URL's scheme, in lower case.
  ///   - options: the options beside those that every backend takes.
  ///   - needsPath: whether a URL must name a directory.
  ///   - files: the names of which one at least stands in the directory of every such store.
  ///   - make: turns a checked URL and its common options into a configuration; throws `invalid`
  ///     for an option value that is invalid.
  public init(
    name: String, options: [Option] = [], needsPath: Bool = true,
    files: [String] = [],
    make:
      @escaping @Sendable (StorageURL, StorageOptions) throws(StoreError) ->
      StorageConfiguration
  ) {
    self.name = name
    self.options = options
    self.needsPath = needsPath
    self.files = files
    self.make = make
  }

  /// The same kind, kept by a library.
  ///
  /// - Parameter library: its name and version, such as `SQLite 3.40.1`.
  package func kept(by library: String) -> StorageKind {
    var kind = self
    kind.library = library
    return kind
  }

  /// The options that every backend takes.
  package static let commonOptions: [Option] = [
    Option("budget", "cache budget: bytes, or with KB, MB, GB (1024), at least 1MB; or unlimited"),
    Option("compression", "none, zstd, or zstd:LEVEL with a level from 1 to 19"),
    Option("decoded-cache", "memory for decoded data: bytes, such as 8MB; 0 for none"),
    Option("durability", "of commits that name none: relaxed, process, power, or strongest"),
    Option("role", "cache (a damaged range is fetched again) or authority (it is the only copy)"),
  ]
}
