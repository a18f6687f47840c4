package import ConiferQuery
package import ConiferTree

/// What a change of the sync tree asks its owner to do, in the order of these members.
package struct SyncResult: Sendable {
  /// An event for one listener.
  package struct Raised: Sendable {
    /// Whom to tell.
    package let listener: ListenerID
    /// What.
    package var event: DataEvent

    /// An event for one listener.
    package init(_ listener: ListenerID, _ event: DataEvent) {
      self.listener = listener
      self.event = event
    }
  }

  /// Keys that entered and left the server data of a filtered listen; the owner stores data and tracked
  /// keys accordingly.
  package struct WindowChange: Sendable {
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
  package var windowChanges: [WindowChange] = []
  /// What listeners are told, in order.
  package var events: [Raised] = []

  /// Nothing to do.
  package init() {}
}
