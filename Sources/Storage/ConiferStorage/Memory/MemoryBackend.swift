import ConiferKeyValue

/// A backend that keeps its data in memory alone: for tests, and for apps that turn persistence
/// off.
public typealias MemoryBackend = PackedBackend<MemoryStore>

extension StorageConfiguration {
  /// Storage in memory, gone when the backend is closed.
  public static var memory: StorageConfiguration { .memory() }

  /// Storage in memory with options, gone when the backend is closed.
  ///
  /// - Parameter options: a durability above `.relaxed` is refused at opening, `.strongest` is that.
  public static func memory(_ options: StorageOptions = StorageOptions()) -> StorageConfiguration {
    StorageConfiguration(name: "memory", location: nil, options: options) {
      (options) throws(StoreError) in
      try MemoryBackend.open(MemoryStore(), name: "memory", options: options)
    }
  }
}

extension StorageKind {
  /// `memory://`: storage in memory, gone when the backend is closed.
  public static let memory = StorageKind(name: "memory", needsPath: false) {
    (url, options) throws(StoreError) in
    guard url.path.isEmpty else {
      throw StoreError(
        .invalid, "memory:// keeps no files, so it takes no path: leave \"\(url.path)\" out.")
    }
    return .memory(options)
  }
}
