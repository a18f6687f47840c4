import ConiferDocumentSync

/// Whether a listener gets documents from the cache and the server, or from the cache alone.
public enum ListenSource: UInt, Sendable, Hashable {
  /// The cached documents first, and then those from the server.
  case `default`
  /// What is here alone.
  case cache
}

/// The options of a listener, which are its source and whether it gets snapshots that differ in
/// metadata alone.
public struct SnapshotListenOptions: Sendable, Hashable {
  /// Where documents come from.
  public private(set) var source = ListenSource.default
  /// Whether snapshots come that differ in their metadata alone.
  public private(set) var includeMetadataChanges = false

  /// The options that hold where none are given: from cache and server, without changes of metadata.
  public init() {}

  /// The options with changes of metadata included or left out.
  public func withIncludeMetadataChanges(_ include: Bool) -> SnapshotListenOptions {
    var options = self
    options.includeMetadataChanges = include
    return options
  }

  /// The options with another source.
  public func withSource(_ source: ListenSource) -> SnapshotListenOptions {
    var options = self
    options.source = source
    return options
  }

  var model: ListenOptions {
    ListenOptions(
      includesMetadataChanges: includeMetadataChanges,
      source: source == .cache ? .cache : .default)
  }
}

/// Whether a get asks the server, the cache, or the server with the cache as a fallback.
public enum FirestoreSource: UInt, Sendable, Hashable {
  /// The server; what is here when it cannot be reached.
  case `default`
  /// The server alone.
  case server
  /// What is here alone.
  case cache

  var model: GetSource {
    switch self {
    case .default: .default
    case .server: .server
    case .cache: .cache
    }
  }
}
