public import ConiferTree

/// A queue of writes of one identity in one tree.
public struct Lane: Hashable, Sendable {
  /// The longest identity, in UTF-8 bytes.
  public static let longestIdentity = 256

  /// The tree that the writes are for.
  public let tree: TreeID
  /// Who wrote, for example a user id; empty for writes made before anybody signed in.
  public let identity: String

  /// The lane of an identity.
  ///
  /// - Parameters:
  ///   - tree: the tree that the writes are for.
  ///   - identity: at most 256 UTF-8 bytes, none of them zero; empty before anybody signed in.
  public init(tree: TreeID, identity: String = "") {
    self.tree = tree
    self.identity = identity
  }

  /// Whether tree and identity are the same, by bytes: composed and decomposed accents differ.
  public static func == (a: Lane, b: Lane) -> Bool {
    a.tree == b.tree && a.identity.utf8.elementsEqual(b.identity.utf8)
  }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(tree)
    for byte in identity.utf8 { hasher.combine(byte) }
  }
}

/// The number of a write in its lane; it never repeats, not even after the lane was emptied.
public struct WriteID: Hashable, Comparable, Sendable {
  /// The number, from 1 to 2^56 - 1.
  public let rawValue: UInt64
  /// The highest number.
  static let last: UInt64 = 1 << 56 - 1

  /// The write with a number.
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Orders writes by the time of their enqueueing.
  public static func < (a: WriteID, b: WriteID) -> Bool { a.rawValue < b.rawValue }
}

/// What a write asks the server to do; server values are kept unresolved.
public struct WriteContent: Hashable, Sendable {
  /// What kind of write it is; numbers are stored, so they never change their meaning.
  public enum Kind: UInt8, Sendable {
    /// Replaces one node.
    case set = 1
    /// Replaces several nodes at once, all or none.
    case update = 2
    /// Replaces one node if it is what the precondition says.
    case transaction = 3
  }

  /// One replaced node; its path is from the tree's root.
  public typealias Change = NodeChange

  /// What must hold on the server for the write to be applied.
  public struct Precondition: Hashable, Sendable {
    /// The path from the tree's root.
    public var path: Path
    /// The hash that the node there must have.
    public var hash: String

    /// What must hold on the server.
    public init(path: Path, hash: String) {
      self.path = path
      self.hash = hash
    }
  }

  /// What kind of write it is.
  public var kind: Kind
  /// Where the write was made: the path of the `set`, or the one that an `update` is relative to.
  public var path: Path
  /// The replaced nodes, in order.
  public var changes: [Change]
  /// What must hold for the write to be applied.
  public var preconditions: [Precondition]
  /// Bytes by which a server may tell a repetition; 0 to 255 of them.
  public var idempotencyID: [UInt8]
  /// When it was made, in milliseconds since 1970: information, never an order.
  public var time: Int64

  /// What a write asks the server to do.
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

/// Where a write stands that the server has not finally answered.
public enum WriteState: Hashable, Sendable {
  /// Waits to be sent.
  case queued
  /// Was sent on a connection that still stands.
  case sent
  /// Was sent, and the connection broke before the answer.
  case outcomeUnknown
  /// The server refused, with this reason; the write stays until it is retried or discarded.
  case rejected(reason: String)
}

/// How a write ended.
public enum WriteOutcome: Hashable, Sendable {
  /// The server applied it.
  case acknowledged
  /// The app gave it up.
  case discarded
  /// A later write replaced it before it was sent.
  case superseded(by: WriteID)
}

/// A write in the outbound queue.
public struct QueuedWrite: Hashable, Sendable {
  /// Its number.
  public let id: WriteID
  /// What it asks for.
  public var content: WriteContent
  /// Where it stands.
  public var state: WriteState
  /// How often it was sent.
  public var attempts: UInt32

  /// A write in the queue.
  public init(id: WriteID, content: WriteContent, state: WriteState = .queued, attempts: UInt32 = 0)
  {
    self.id = id
    self.content = content
    self.state = state
    self.attempts = attempts
  }
}

/// A write that left the queue; each lane remembers a bounded number of them.
public struct FinishedWrite: Hashable, Sendable {
  /// Its number.
  public let id: WriteID
  /// How it ended.
  public let outcome: WriteOutcome
  /// Where it was made.
  public let path: Path

  /// A write that left the queue.
  public init(id: WriteID, outcome: WriteOutcome, path: Path) {
    self.id = id
    self.outcome = outcome
    self.path = path
  }
}

/// What a lane holds, known without reading it.
public struct QueueTotals: Hashable, Sendable {
  /// Writes that wait for an answer: queued, sent or of unknown outcome.
  public var pending: Int
  /// Writes that the server refused and that wait for the app.
  public var rejected: Int
  /// Bytes of their stored records.
  public var bytes: Int
  /// The oldest write that waits for an answer.
  public var oldest: WriteID?
  /// The newest number that was ever given in the lane.
  public var newest: WriteID?

  /// What a lane holds.
  public init(
    pending: Int = 0, rejected: Int = 0, bytes: Int = 0, oldest: WriteID? = nil,
    newest: WriteID? = nil
  ) {
    self.pending = pending
    self.rejected = rejected
    self.bytes = bytes
    self.oldest = oldest
    self.newest = newest
  }
}
