package import ConiferQuery
package import ConiferTree

/// A listener's number; never given twice in a process.
package struct ListenerID: Hashable, Sendable {
  /// The number.
  package let rawValue: UInt64

  /// The listener with a number.
  package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The place of a local write in the order of all local writes.
///
/// A queued write has its number in the lane and step 0. A write that is not queued, such as a
/// transaction's, has the number of the last queued write before it and a step from 1.
package struct OverlayID: Hashable, Comparable, Sendable {
  /// The number in the lane.
  package let number: UInt64
  /// The counter of writes that are not queued.
  package let step: UInt64

  /// The place of a local write.
  package init(_ number: UInt64, _ step: UInt64 = 0) {
    self.number = number
    self.step = step
  }

  /// Orders writes as they were made.
  package static func < (a: OverlayID, b: OverlayID) -> Bool {
    (a.number, a.step) < (b.number, b.step)
  }
}

/// A listen that a server is asked for.
package struct Listen: Hashable, Sendable {
  /// The normalized target.
  package let target: QueryTarget
  /// The tag of the pushes of a filtered query; nil for a default one.
  package let tag: Int?

  /// A listen.
  package init(_ target: QueryTarget, tag: Int?) {
    self.target = target
    self.tag = tag
  }
}

/// What a change of the sync tree asks its owner to do, in the order of these members.
package struct SyncResult: Sendable {
  /// An event for one listener.
  package struct Raised: Sendable {
    /// Whom to tell.
    package let listener: ListenerID
    /// What.
    package let event: DataEvent

    /// An event for one listener.
    package init(_ listener: ListenerID, _ event: DataEvent) {
      self.listener = listener
      self.event = event
    }
  }

  /// Keys that entered and left the server data of a filtered listen; the owner stores data and tracked
  /// keys accordingly.
  package struct Window: Sendable {
    /// The filtered query.
    package let target: QueryTarget
    /// Keys that it holds now.
    package var added: [Key]
    /// Keys that it held before.
    package var removed: [Key]
    /// Whether the added keys replace all that were stored before.
    package var replacesAll: Bool

    /// Keys that came and went.
    package init(
      _ target: QueryTarget, added: [Key], removed: [Key], replacesAll: Bool = false
    ) {
      self.target = target
      self.added = added
      self.removed = removed
      self.replacesAll = replacesAll
    }
  }

  /// Listens that the server is to be asked for, in order.
  package var started: [Listen] = []
  /// Listens that the server is to be told to end, in order, after the started ones.
  package var stopped: [Listen] = []
  /// Changes of what filtered listens hold.
  package var windows: [Window] = []
  /// What listeners are told, in order.
  package var events: [Raised] = []

  /// Nothing to do.
  package init() {}
}
