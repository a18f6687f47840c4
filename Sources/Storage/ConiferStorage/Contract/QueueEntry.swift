import ConiferDocument
public import ConiferKeyValue
public import ConiferTree

/// The queue of the writes of one identity in one tree.
public struct Lane: Hashable, Sendable {
  /// The longest identity, in UTF-8 bytes.
  package static let longestIdentity = 256

  /// The tree that the writes are for.
  public let tree: TreeID
  /// The identity of the writer, for example a user id; empty for writes made while nobody is
  /// signed in.
  public let identity: String

  /// The lane of an identity.
  ///
  /// - Parameters:
  ///   - tree: the tree that the writes are for.
  ///   - identity: at most 256 UTF-8 bytes, none of them zero; empty while nobody is signed in.
  public init(tree: TreeID, identity: String = "") {
    self.tree = tree
    self.identity = identity
  }

  /// Why an identity is out of bounds; nil when it is not.
  package static func fault(ofIdentity identity: String) -> StoreError? {
    guard identity.utf8.count > longestIdentity || identity.utf8.contains(0) else { return nil }
    return StoreError(
      .invalid,
      "An identity has at most \(longestIdentity) UTF-8 bytes, and none of them is zero: name the lane by "
        + "another one, such as a user's id.")
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
  static let last: UInt64 = (1 << 56) - 1

  /// The write with a number.
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Orders writes by the time of their enqueueing.
  public static func < (a: WriteID, b: WriteID) -> Bool { a.rawValue < b.rawValue }
}

/// The content of a queued write as stored: bytes that only the data model that made them can read,
/// and the paths by which the queue finds the write.
public struct WritePayload: Hashable, Sendable {
  /// The data model that reads a payload's bytes; numbers are stored, so they never change their
  /// meaning.
  public struct Kind: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
    /// The number, from 1 to 255.
    public let rawValue: UInt8

    /// The kind with a number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A write to a tree: ``WriteContent``.
    public static let tree = Kind(rawValue: 1)

    /// The kind's name, or its number.
    public var description: String {
      switch self {
      case .tree: "tree"
      case .documents: "documents"
      default: "kind \(rawValue)"
      }
    }
  }

  /// The model that reads the bytes.
  public let kind: Kind
  /// The path at which the write was made; it is remembered with the write's end.
  public let path: Path
  /// The paths that it changes: it is found by these, by those above and by those below. A document is a path of two
  /// segments, its collection and its id, as `MutationBatch.payload` makes it.
  public let touches: [Path]
  /// The content in the model's own format, with the conditions that must hold.
  public let bytes: [UInt8]

  /// The content of a write.
  ///
  /// - Parameters:
  ///   - kind: the model that reads the bytes.
  ///   - path: the path at which the write was made.
  ///   - touches: the paths that it changes.
  ///   - bytes: the content; that of the kind `tree` is made by ``WriteContent/payload``.
  public init(kind: Kind, path: Path, touches: [Path], bytes: [UInt8]) {
    self.kind = kind
    self.path = path
    self.touches = touches
    self.bytes = bytes
  }

  /// Refuses a payload that could not be read back unchanged.
  ///
  /// - Throws: `invalid`.
  package func check() throws(StoreError) {
    switch kind {
    case .tree:
      guard WriteContent.payload(bytes) == self else {
        throw StoreError(
          .invalid,
          "The bytes are no write to a tree on these paths: make them by WriteContent.payload, with an "
            + "idempotency id of at most 255 bytes.")
      }
    case .documents:
      guard MutationBatch(self)?.payload == self else {
        throw StoreError(
          .invalid,
          "The bytes are no writes to these documents: make them by MutationBatch.payload.")
      }
    default:
      guard kind.rawValue == 0 else { return }
      throw StoreError(.invalid, "Kind 0 is none: give a queued write a kind from 1 to 255.")
    }
  }
}

/// The state of a write in the queue, which is queued, sent, of unknown outcome, or rejected.
public enum WriteState: Hashable, Sendable {
  /// Is to be sent.
  case queued
  /// Was sent on a connection that still stands.
  case sent
  /// Was sent, and the connection broke before the answer.
  case outcomeUnknown
  /// The server refused, with this reason; the write stays until it is retried or discarded.
  case rejected(reason: String)
}

/// How a write left the queue, which is acknowledged, discarded or superseded.
public enum WriteOutcome: Hashable, Sendable {
  /// The server applied it.
  case acknowledged
  /// The app gave it up.
  case discarded
  /// A later write replaced it before it was sent.
  case superseded(by: WriteID)
}

/// A write in the outbound queue, whatever data model it belongs to.
public struct QueueEntry: Hashable, Sendable {
  /// Its number.
  public let id: WriteID
  /// Its content.
  public var payload: WritePayload
  /// Its state.
  public var state: WriteState
  /// How often it was sent.
  public var attempts: UInt32

  /// A write in the queue.
  public init(
    id: WriteID, payload: WritePayload, state: WriteState = .queued, attempts: UInt32 = 0
  ) {
    self.id = id
    self.payload = payload
    self.state = state
    self.attempts = attempts
  }
}

/// A write that left the queue, and how it ended; each lane remembers a bounded number of them.
public struct FinishedWrite: Hashable, Sendable {
  /// Its number.
  public let id: WriteID
  /// How it ended.
  public let outcome: WriteOutcome
  /// The path at which it was made.
  public let path: Path

  /// A write that left the queue.
  public init(id: WriteID, outcome: WriteOutcome, path: Path) {
    self.id = id
    self.outcome = outcome
    self.path = path
  }
}

/// The numbers of a lane's pending and rejected writes, and their bytes, known without reading the
/// lane.
public struct QueueTotals: Hashable, Sendable {
  /// Writes that wait for their final answer: queued, sent or of unknown outcome.
  public var pending: Int
  /// Writes that the server refused and that wait for the app.
  public var rejected: Int
  /// Bytes of their stored records.
  public var bytes: Int
  /// The oldest of the pending writes.
  public var oldest: WriteID?
  /// The newest number that was ever given in the lane.
  public var newest: WriteID?

  /// The totals of a lane.
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
