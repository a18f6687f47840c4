public import ConiferKeyValue

/// A number of records that cannot be read here, since their encryption key is missing.
public struct LockedRecords: Hashable, Sendable, CustomStringConvertible {
  /// The tree that they belong to; nil for the store itself.
  public let tree: TreeID?
  /// Its name, where that can be read.
  public let name: String?
  /// The identity of the queue that they belong to, or nil when they belong to none.
  public let identity: String?
  /// Why they cannot be read.
  public let why: MissingKey
  /// How many there are.
  public var records = 0
  /// Bytes of their keys and values.
  public var bytes = 0

  /// The tree and queue that they belong to, in words.
  package var place: String {
    let owner = name.map { "tree \"\($0)\"" } ?? tree.map { "tree \($0.rawValue)" } ?? "the store"
    return identity.map { "queue of \"\($0)\" in \(owner)" } ?? owner
  }

  /// How many cannot be read, and why.
  package var words: String {
    let reason =
      switch why {
      case .erased: "their key was erased"
      case .notGiven: "their own key was not given"
      case .lost: "what is stored of their key is damaged"
      }
    return "\(records) records cannot be read: \(reason)"
  }

  /// Place and words in one line.
  public var description: String { "\(place): \(words)" }
}

/// A report of a check of a whole store, with its findings and how much it looked at.
public struct VerificationReport: Sendable, Equatable {
  /// Something that a check found wrong: it is not as it was written, or breaks a rule that records
  /// keep.
  public struct Finding: Hashable, Sendable, CustomStringConvertible {
    /// The kind of a finding, by a stable name; new kinds may come in later versions.
    public struct Kind: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
      /// The kind's stable name.
      public let rawValue: String

      /// The kind with a stable name.
      public init(rawValue: String) { self.rawValue = rawValue }

      /// The store under the records is damaged: a page, block, frame or file.
      public static let file = Kind(rawValue: "damaged-file")
      /// A record's checksum is wrong, or the store cannot lend it.
      public static let checksum = Kind(rawValue: "wrong-checksum")
      /// A record whose checksum is right cannot be read.
      public static let content = Kind(rawValue: "unreadable-record")
      /// Keys, runs or leaves are not in order, or lie over each other.
      public static let order = Kind(rawValue: "wrong-order")
      /// A record that nothing refers to, or that belongs to nothing.
      public static let orphan = Kind(rawValue: "orphan")
      /// A record that another one refers to is not there.
      public static let missing = Kind(rawValue: "missing-record")
      /// Stored counts differ from a recount.
      public static let count = Kind(rawValue: "wrong-count")
      /// A number was given twice, or lies above the last one that was given.
      public static let number = Kind(rawValue: "reused-number")

      /// The kind's stable name.
      public var description: String { rawValue }
    }

    /// What kind of thing is wrong.
    public let kind: Kind
    /// The tree that it belongs to; nil for the store as a whole.
    public let tree: TreeID?
    /// The place, in words: a path where one can be read, else a key or a position in a file.
    public let place: String
    /// What is wrong, in a sentence without its end.
    public let words: String
    /// How many stored bytes it concerns; 0 when that is not known.
    public let bytes: Int

    /// Something that is wrong.
    public init(kind: Kind, tree: TreeID?, place: String, words: String, bytes: Int = 0) {
      self.kind = kind
      self.tree = tree
      self.place = place
      self.words = words
      self.bytes = bytes
    }

    /// Kind, place and words in one line.
    public var description: String {
      let tree = tree.map { "tree \($0.rawValue), " } ?? ""
      return "\(kind): \(tree)\(place): \(words)"
    }
  }

  /// The numbers of records of each kind that were checked.
  public struct Counts: Hashable, Sendable {
    /// Trees in the registry.
    public var trees = 0
    /// All records.
    public var records = 0
    /// Bytes of their keys and values.
    public var bytes = 0
    /// Leaves and priorities of interior nodes, with changes that are not folded yet.
    public var leaves = 0
    /// Leaves that are documents, those that are known to be missing too.
    public var documents = 0
    /// Runs of leaves.
    public var runs = 0
    /// Small changes of runs, in records of their own until they are folded in.
    public var deltas = 0
    /// Leaves that are stored in chunks.
    public var largeLeaves = 0
    /// Compression dictionaries.
    public var dictionaries = 0
    /// Entries of indexes.
    public var indexEntries = 0
    /// Tracked queries.
    public var queries = 0
    /// Keys that filtered queries hold.
    public var trackedKeys = 0
    /// Pins.
    public var pins = 0
    /// Writes in outbound queues, rejected ones too.
    public var writes = 0
    /// Overlays: one for each document and lane with waiting writes.
    public var overlays = 0
    /// Collections of which documents are stored.
    public var collections = 0
    /// Writes whose end is remembered.
    public var finishedWrites = 0
    /// Records of kinds that this version does not know; they are kept.
    public var unknown = 0

    /// Nothing was checked.
    public init() {}
  }

  /// How many findings a report keeps.
  package static let mostFindings = 1000

  /// The first findings, in the order in which they were met.
  public private(set) var findings: [Finding] = []
  /// How many findings there were.
  public private(set) var found = 0
  /// How much was checked.
  public var counts = Counts()
  /// The records that could not be checked, since their key was erased on purpose or is not at
  /// hand: neither is a finding.
  public var locked: [LockedRecords] = []
  /// Whether the records could not be checked, since the store under them is damaged in a way in
  /// which reading it might trap.
  public var isPartial = false

  /// A report of nothing.
  public init() {}

  /// Whether nothing is wrong.
  public var isSound: Bool { found == 0 && !isPartial }

  /// Adds a finding.
  public mutating func add(_ finding: Finding) {
    found += 1
    if findings.count < Self.mostFindings { findings.append(finding) }
  }
}

/// The progress of a check of a whole store, in bytes.
public struct VerificationProgress: Hashable, Sendable {
  /// The part that is being checked, in words.
  public var phase: String
  /// Bytes of records that were read.
  public var bytes: Int
  /// About how many there are.
  public var expected: Int

  /// How far a check has come.
  public init(phase: String, bytes: Int, expected: Int) {
    self.phase = phase
    self.bytes = bytes
    self.expected = expected
  }
}
