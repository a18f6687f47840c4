public import ConiferQuery
public import ConiferTree

/// A listener's number; never given twice in a process.
public struct ListenerID: Hashable, Sendable {
  /// The number.
  public let rawValue: UInt64

  /// The listener with a number.
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The place of a local write among all that lie over the views.
///
/// A queued write has its number in the lane and 0; one that is not queued, as a transaction's, has
/// the number of the last queued one before it and a counter from 1.
public struct OverlayID: Hashable, Comparable, Sendable {
  /// The number in the lane.
  public let number: UInt64
  /// The counter of what is not queued.
  public let step: UInt64

  /// The place of a local write.
  public init(_ number: UInt64, _ step: UInt64 = 0) {
    self.number = number
    self.step = step
  }

  /// Orders writes as they were made.
  public static func < (a: OverlayID, b: OverlayID) -> Bool {
    (a.number, a.step) < (b.number, b.step)
  }
}

/// A listen that a server is asked for.
public struct Listen: Hashable, Sendable {
  /// What is listened to; normalized.
  public let target: QueryTarget
  /// What names the pushes of a filtered query; nil for a default one.
  public let tag: Int?

  /// A listen.
  public init(_ target: QueryTarget, tag: Int?) {
    self.target = target
    self.tag = tag
  }
}

/// What a step of the sync tree asks its owner to do, in this order of members.
public struct SyncResult: Sendable {
  /// An event for one listener.
  public struct Raised: Sendable {
    /// Whom to tell.
    public let listener: ListenerID
    /// What.
    public let event: DataEvent

    /// An event for one listener.
    public init(_ listener: ListenerID, _ event: DataEvent) {
      self.listener = listener
      self.event = event
    }
  }

  /// Keys that came into and left the server data of a filtered listen, whose data and tracked keys
  /// are to be stored so.
  public struct Window: Sendable {
    /// The filtered query.
    public let target: QueryTarget
    /// Keys that it holds now.
    public var added: [Key]
    /// Keys that it held before.
    public var removed: [Key]
    /// Whether the added keys are all there are, whatever was stored before.
    public var replacesAll: Bool

    /// Keys that came and went.
    public init(
      _ target: QueryTarget, added: [Key], removed: [Key], replacesAll: Bool = false
    ) {
      self.target = target
      self.added = added
      self.removed = removed
      self.replacesAll = replacesAll
    }
  }

  /// Listens that the server is to be asked for, in order.
  public var started: [Listen] = []
  /// Listens that the server is to be told to end, in order, after the started ones.
  public var stopped: [Listen] = []
  /// Changes of what filtered listens hold.
  public var windows: [Window] = []
  /// What listeners are told, in order.
  public var events: [Raised] = []

  /// Nothing to do.
  public init() {}
}
