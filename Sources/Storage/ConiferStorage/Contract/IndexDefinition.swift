public import ConiferKeyValue
public import ConiferQuery
public import ConiferTree

/// An index that a client declares over the children of some nodes, as `.indexOn` does in database
/// rules.
public struct IndexDefinition: Sendable {
  /// One of the values by which an index sorts children.
  public struct Component: Hashable, Sendable {
    /// What gives the value: a path below the child, its own value, or its priority.
    public let by: QueryIndex
    /// Whether larger values come first.
    public let isDescending: Bool

    /// One of the values that children are sorted by.
    public init(_ by: QueryIndex, isDescending: Bool = false) {
      self.by = by
      self.isDescending = isDescending
    }
  }

  /// The most components of one index.
  package static let mostComponents = 4
  /// The most indexes of one tree of nodes.
  package static let mostInTree = 64
  /// The most segments of a pattern.
  static let deepest = 32

  /// The nodes whose children are indexed: a path from the tree's root, in which a segment that
  /// begins with `$` stands for any key, as in `rooms/$room/messages`.
  public let pattern: Path
  /// What children are sorted by, the most significant first; equal ones are sorted by key.
  public let components: [Component]

  /// An index over several values.
  ///
  /// - Parameters:
  ///   - pattern: the nodes whose children are indexed.
  ///   - components: 1 to 4 of them.
  /// - Throws: `invalid` (a component by key, which needs no index; a child path that no query may
  ///   order by; no or too many components or segments).
  public init(_ pattern: Path, _ components: [Component]) throws(StoreError) {
    guard (1...Self.mostComponents).contains(components.count), pattern.count <= Self.deepest else {
      throw StoreError(
        .invalid,
        "An index has 1 to \(Self.mostComponents) components and a pattern of at most "
          + "\(Self.deepest) segments, and \(pattern) has \(components.count) and \(pattern.count): declare a "
          + "smaller one.")
    }
    if let key = pattern.keys.first(where: { $0.isPriority || $0.string.isEmpty }) {
      throw StoreError(.invalid, "The pattern \(pattern) goes through \"\(key)\": name children.")
    }
    for component in components {
      guard component.by != .key else {
        throw StoreError(
          .invalid, "Children are stored by key: leave the index by key of \(pattern) out.")
      }
      do throws(TreeError) {
        _ = try QuerySpec.default.ordered(by: component.by)
      } catch {
        throw StoreError(
          .invalid,
          "No query may order by \"\(component.by)\", so it needs no index: "
            + error.message)
      }
    }
    self.pattern = pattern
    self.components = components
  }

  /// An index over one value, ascending: what a query by that value needs.
  ///
  /// - Parameters:
  ///   - pattern: the nodes whose children are indexed.
  ///   - index: what they are sorted by.
  /// - Throws: `invalid`, as the other initialiser.
  public init(_ pattern: Path, by index: QueryIndex) throws(StoreError) {
    try self.init(pattern, [Component(index)])
  }

  /// Whether the children of a path are indexed.
  package func covers(_ path: Path) -> Bool {
    path.count == pattern.count
      && zip(pattern.keys, path.keys).allSatisfy { Self.isWildcard($0) || $0 == $1 }
  }

  /// Whether the index sorts as queries by a value do.
  func serves(_ index: QueryIndex) -> Bool {
    components == [Component(index)]
  }

  /// Whether a segment of a pattern stands for any key.
  static func isWildcard(_ key: Key) -> Bool { key.string.utf8.first == UInt8(ascii: "$") }
}

extension IndexDefinition: Hashable {
  /// The pattern's segments, nil for any key: how a wildcard is called makes no difference.
  private var segments: [Key?] { pattern.keys.map { Self.isWildcard($0) ? nil : $0 } }

  /// Whether both sort the children of the same nodes alike.
  public static func == (a: IndexDefinition, b: IndexDefinition) -> Bool {
    a.components == b.components && a.segments == b.segments
  }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(segments)
    hasher.combine(components)
  }
}

extension IndexDefinition: CustomStringConvertible {
  /// The pattern, and what its children are sorted by.
  public var description: String {
    let names = components.map { $0.isDescending ? "\($0.by) descending" : "\($0.by)" }
    return "\(pattern) on \(names.joined(separator: ", "))"
  }

  /// The entry of database rules that declares the index.
  public var rule: String {
    let names = components.map { "\"\($0.by)\"" }.joined(separator: ", ")
    return "\".indexOn\": [\(names)] at \(pattern)"
  }
}

/// The state of a declared index, with its number of entries and its bytes.
public struct IndexStatus: Hashable, Sendable {
  /// Whether an index is ready for queries or is still being built.
  public enum State: Hashable, Sendable {
    /// It is complete.
    case ready
    /// It is being built; about which part of the tree's data was looked at, from 0 to 1. Queries of
    /// nodes that were passed use it.
    case building(Double)
  }

  /// The index.
  public let definition: IndexDefinition
  /// Whether queries may use it.
  public let state: State
  /// How many entries it has.
  public let entries: Int
  /// Bytes of their keys and values, with the space byte.
  public let bytes: Int

  /// The state of an index.
  public init(definition: IndexDefinition, state: State, entries: Int = 0, bytes: Int = 0) {
    self.definition = definition
    self.state = state
    self.entries = entries
    self.bytes = bytes
  }
}
