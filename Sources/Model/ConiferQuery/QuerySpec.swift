public import ConiferTree

/// A query without a path, which is an order of a node's children, a range of that order, and a
/// limit.
///
/// A spec holds no place; the same spec may be asked of any node. It is built by methods that each
/// return a narrower spec and throw where the Realtime Database allows no such query, so a spec that
/// exists is valid:
///
/// ```swift
/// let spec = try QuerySpec.default.ordered(by: .child("height")).starting(at: 3).limited(toFirst: 2)
/// ```
public struct QuerySpec: Sendable {
  /// One end of a query's range, given as an index value and a key, by which children are sorted.
  public struct Bound: Sendable, Hashable {
    /// The index value; nil means `null`, which children without the value have. In a query by key
    /// it is the key, as a string.
    public let value: Leaf?
    /// The key among the children with that value; nil for all of them.
    public let key: Key?
    /// Whether what is equal to the bound belongs to the range.
    public let inclusive: Bool
  }

  /// Whether a limit keeps the first or the last children of the range.
  public enum Side: Sendable, Hashable {
    /// The first children in index order.
    case first
    /// The last children in index order.
    case last
  }

  /// The maximum number of children in a query's result, and whether the first or the last ones are
  /// kept.
  public struct Limit: Sendable, Hashable {
    /// The number of children, from 1 to 2^31 - 1.
    public let count: Int
    /// The end that is kept.
    public let side: Side
  }

  /// The index that sorts the children.
  public internal(set) var index = QueryIndex.priority
  /// Where the range starts; nil for the first child.
  public internal(set) var start: Bound?
  /// Where the range ends; nil for the last child.
  public internal(set) var end: Bound?
  /// The limit; nil for none.
  public internal(set) var limit: Limit?
  /// Whether an order was asked for, be it the default one: it may be asked for once.
  var isOrdered = false

  init() {}

  /// All children, in the order of their priorities.
  public static let `default` = QuerySpec()

  /// Whether every child belongs to the result, whatever the order.
  public var loadsAllData: Bool { start == nil && end == nil && limit == nil }

  /// Whether the query selects all children in the default order.
  public var isDefault: Bool { loadsAllData && index == .priority }

  /// The spec that is listened to and stored for this one: the default when all data is loaded
  /// anyway, since then only the view's order differs.
  public var normalized: QuerySpec { loadsAllData ? .default : self }
}

extension QuerySpec: Hashable {
  /// Whether both ask for the same.
  public static func == (a: QuerySpec, b: QuerySpec) -> Bool {
    a.index == b.index && a.start == b.start && a.end == b.end && a.limit == b.limit
  }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(index)
    hasher.combine(start)
    hasher.combine(end)
    hasher.combine(limit)
  }
}

extension QuerySpec: CustomStringConvertible {
  /// The identifier.
  public var description: String { identifier }
}
