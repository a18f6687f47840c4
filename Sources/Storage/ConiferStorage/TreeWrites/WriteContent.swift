public import ConiferTree

/// The decoded content of a write to a tree, which is its kind, its nodes and its preconditions;
/// server values are kept unresolved.
///
/// The queue keeps it as a ``WritePayload``, whose bytes only this type makes and reads.
public struct WriteContent: Hashable, Sendable {
  /// Whether a write is a set, an update or a transaction; numbers are stored, so they never change
  /// their meaning.
  public enum Kind: UInt8, Sendable {
    /// Replaces one node.
    case set = 1
    /// Replaces several nodes at once, all or none.
    case update = 2
    /// Replaces one node if it is what the precondition says.
    case transaction = 3
  }

  /// A node that a write replaces, with its path from the tree's root.
  public typealias Change = NodeChange

  /// The hash that a node must have on the server for a write to be applied.
  public struct Precondition: Hashable, Sendable {
    /// The path from the tree's root.
    public var path: Path
    /// The hash that the node there must have.
    public var hash: String

    /// A hash that the node at a path must have.
    public init(path: Path, hash: String) {
      self.path = path
      self.hash = hash
    }
  }

  /// What kind of write it is.
  public var kind: Kind
  /// The path at which the write was made: that of the `set`, or the one that an `update` is
  /// relative to.
  public var path: Path
  /// The replaced nodes, in order.
  public var changes: [Change]
  /// The preconditions that must hold for the write to be applied.
  public var preconditions: [Precondition]
  /// Bytes by which a server may tell a repetition; 0 to 255 of them.
  public var idempotencyID: [UInt8]
  /// When it was made, in milliseconds since 1970: information, never an order.
  public var time: Int64

  /// The content of a write.
  public init(
    kind: Kind, path: Path, changes: [Change], preconditions: [Precondition] = [],
    idempotencyID: [UInt8] = [], time: Int64 = 0
  ) {
    self.kind = kind
    self.path = path
    self.changes = changes
    self.preconditions = preconditions
    self.idempotencyID = idempotencyID
    self.time = time
  }

  /// A write that replaces one node.
  public static func set(_ path: Path, _ node: Node, time: Int64 = 0) -> WriteContent {
    WriteContent(kind: .set, path: path, changes: [Change(path, node)], time: time)
  }
}
