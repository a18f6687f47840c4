import CPeers
public import ConiferKeyValue
public import ConiferStorage

/// An engine that takes part in the benchmark.
public struct Candidate: Sendable {
  /// The kind of an engine.
  public enum Kind: String, Sendable, Codable {
    /// A backend of Conifer's contract.
    case backend
    /// A variant with other options; it runs only the first workloads.
    case variant
    /// A raw engine with one leaf a row.
    case raw
  }

  /// The name in tables.
  public let name: String
  /// Its kind.
  public let kind: Kind
  /// The strongest durability that it can be asked for; it has no place in the tables above.
  public let strongest: Durability
  /// Whether it can be opened again with what it held.
  public let isPersistent: Bool
  let open: @Sendable (_ directory: String, _ durability: Durability) async throws -> any Engine

  /// A backend that takes part.
  ///
  /// - Parameters:
  ///   - name: in tables.
  ///   - strongest: the strongest durability of its commits.
  ///   - options: the options that it is opened with; durability is set by the run, and there is no
  ///     budget.
  ///   - isVariant: whether it is another candidate with other options.
  ///   - isPersistent: whether it can be opened again with what it held.
  ///   - configuration: the backend on a directory, as `.sqlite(at:options:)` makes it.
  public init(
    name: String, strongest: Durability = .power, options: StorageOptions = StorageOptions(),
    isVariant: Bool = false, isPersistent: Bool = true,
    configuration: @escaping @Sendable (String, StorageOptions) -> StorageConfiguration
  ) {
    self.name = name
    self.kind = isVariant ? .variant : .backend
    self.strongest = strongest
    self.isPersistent = isPersistent
    open = { directory, durability in
      var options = options
      options.budget = nil
      options.durability = .exactly(durability)
      return try await TreeEngine(configuration(directory, options))
    }
  }

  /// A raw engine that takes part.
  ///
  /// - Parameter rows: opens its store in a directory that exists.
  package init(
    raw name: String, rows: @escaping @Sendable (String, Durability) throws -> any RowStore
  ) {
    self.name = name
    kind = .raw
    strongest = .power
    isPersistent = true
    open = { RowEngine(try rows($0, $1)) }
  }

  /// The memory backend, which shows what the layers above a store cost.
  public static let memory = Candidate(
    name: "memory", strongest: .relaxed, isPersistent: false
  ) { _, options in .memory(options) }

  /// LMDB, SQLite and, where it was built in, LevelDB with one leaf a row.
  public static let peers: [Candidate] = [
    ("raw LMDB", PEER_LMDB), ("raw SQLite", PEER_SQLITE), ("raw LevelDB", PEER_LEVELDB),
  ].filter { peer_is_built_in($0.1) }.map { name, kind in
    Candidate(raw: name) { directory, durability in
      let level =
        switch durability {
        case .relaxed: PEER_RELAXED
        case .process: PEER_PROCESS
        case .power: PEER_POWER
        }
      return try PeerStore(kind, directory, level)
    }
  }

  /// The engine that bars are relative to.
  public static let reference = "raw LMDB"
}
