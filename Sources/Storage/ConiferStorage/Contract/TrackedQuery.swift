public import ConiferKeyValue
public import ConiferTree

/// The number of a tracked query in its tree; it is never given twice.
public struct QueryID: Hashable, Comparable, Sendable {
  /// The number, from 1.
  public let rawValue: UInt64

  /// The query with a number.
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Orders queries by the time of their first save.
  public static func < (a: QueryID, b: QueryID) -> Bool { a.rawValue < b.rawValue }
}

/// A query that was listened to, with whether its data is complete and when it was last used.
///
/// A query is known by its tree, path and parameters. Whether it is active is never stored: nothing
/// is active when a store opens.
public struct TrackedQuery: Hashable, Sendable {
  /// The canonical parameters of a query without filter, order or limit.
  public static let defaultParameters = "default"

  /// Its tree.
  public var tree: TreeID
  /// The path at which it listens.
  public var path: Path
  /// The canonical text of its parameters (`QuerySpec.identifier`); `default` for the whole node.
  public var parameters: String
  /// Whether all of its data was received.
  public var isComplete: Bool
  /// The last use, on the engine's counter; larger is later.
  public var lastUse: UInt64
  /// Whether the server said that there is nothing at the path.
  public var isKnownMissing: Bool
  /// Opaque bytes with which a server resumes the listen.
  public var resumeToken: [UInt8]

  /// A tracked query.
  public init(
    tree: TreeID, path: Path, parameters: String = TrackedQuery.defaultParameters,
    isComplete: Bool = false, lastUse: UInt64 = 0, isKnownMissing: Bool = false,
    resumeToken: [UInt8] = []
  ) {
    self.tree = tree
    self.path = path
    self.parameters = parameters
    self.isComplete = isComplete
    self.lastUse = lastUse
    self.isKnownMissing = isKnownMissing
    self.resumeToken = resumeToken
  }

  /// Whether all of it is the same, by bytes.
  public static func == (a: TrackedQuery, b: TrackedQuery) -> Bool {
    a.tree == b.tree && a.path == b.path && a.parameters.utf8.elementsEqual(b.parameters.utf8)
      && a.isComplete == b.isComplete && a.lastUse == b.lastUse
      && a.isKnownMissing == b.isKnownMissing && a.resumeToken == b.resumeToken
  }

  /// Feeds what tells queries of one tree apart.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(tree)
    hasher.combine(path)
    for byte in parameters.utf8 { hasher.combine(byte) }
  }

  /// Whether it loads the whole node at its path.
  package var isDefault: Bool { parameters == TrackedQuery.defaultParameters }
}

/// A tracked query with its number in the store.
public struct StoredQuery: Hashable, Sendable {
  /// Its number.
  public let id: QueryID
  /// The query.
  public let query: TrackedQuery

  /// A tracked query with its number.
  public init(id: QueryID, query: TrackedQuery) {
    self.id = id
    self.query = query
  }
}

/// A query or path that eviction leaves alone, whatever overlaps it.
public struct Pin: Hashable, Sendable {
  /// Its tree.
  public let tree: TreeID
  /// The path of the pinned data.
  public let path: Path
  /// The canonical parameters of the pinned query; `default` pins all below the path.
  public let parameters: String

  /// A pin; pinning twice is the same as once.
  public init(tree: TreeID, path: Path, parameters: String = TrackedQuery.defaultParameters) {
    self.tree = tree
    self.path = path
    self.parameters = parameters
  }

  /// Whether tree, path and parameters are the same, by bytes.
  public static func == (a: Pin, b: Pin) -> Bool {
    a.tree == b.tree && a.path == b.path && a.parameters.utf8.elementsEqual(b.parameters.utf8)
  }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(tree)
    hasher.combine(path)
    for byte in parameters.utf8 { hasher.combine(byte) }
  }
}
