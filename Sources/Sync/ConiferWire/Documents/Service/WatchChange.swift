package import ConiferDocument

/// The number of a target on the wire: even ones are listens of the app, odd ones documents in limbo.
package typealias TargetID = Int32

/// What a server says on the stream of listens.
package enum WatchChange: Sendable, Hashable {
  /// What happened to targets.
  package enum Event: Sendable, Hashable {
    /// Nothing, but time has passed.
    case noChange
    /// They are listened to.
    case added
    /// They are no longer listened to, as the client asked.
    case removed
    /// The server refused them, or ended them.
    case rejected(StatusError)
    /// All that the server had when they were added was sent.
    case current
    /// What was sent for them is void; it comes again.
    case reset
  }

  /// Something happened to targets, or to all of them when none is named.
  case targets(Event, [TargetID], resumeToken: [UInt8] = [])
  /// A document was changed or deleted: it matches some targets from now on, and others no longer.
  case document(Document, matching: [TargetID] = [], leaving: [TargetID] = [])
  /// A document matches targets no longer; what became of it is not said.
  case left(DocumentPath, [TargetID])
  /// How many documents match a target, and a filter of their names.
  case filter(TargetID, count: Int, BloomFilter? = nil)
  /// What the server says of a document of targets cannot be read: what they have is unknown from then on.
  case unreadable(StatusError, [TargetID])

  /// Whether it tells of a document alone.
  package var isOfDocument: Bool {
    switch self {
    case .document, .left: true
    case .targets, .filter, .unreadable: false
    }
  }
}
