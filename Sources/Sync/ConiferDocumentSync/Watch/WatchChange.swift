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
}

/// Why a target is listened to.
package enum TargetPurpose: Sendable, Hashable {
  /// The app listens.
  case listen
  /// The client had other documents than the server, by their number.
  case existenceFilterMismatch
  /// The same, and a filter of their names did not tell which.
  case existenceFilterMismatchBloom
  /// A document is in limbo.
  case limboResolution

  /// The label that the server counts such listens by.
  package var label: String? {
    switch self {
    case .listen: nil
    case .existenceFilterMismatch: "existence-filter-mismatch"
    case .existenceFilterMismatchBloom: "existence-filter-mismatch-bloom"
    case .limboResolution: "limbo-document"
    }
  }
}

/// A target that the server is asked for on each stream.
package struct WatchTarget: Sendable, Hashable {
  /// Its number.
  package let id: TargetID
  /// What is listened to.
  package let target: DocumentTarget
  /// Why.
  package let purpose: TargetPurpose
  /// Where the server goes on; empty for a new listen.
  package var resumeToken: [UInt8]
  /// As of when the client has what the server said; zero for a new listen.
  package var version: Timestamp
  /// How many documents the client has of a target that goes on, for the server to compare.
  package var expectedCount: Int?

  /// A target.
  package init(
    _ id: TargetID, _ target: DocumentTarget, _ purpose: TargetPurpose = .listen,
    resumeToken: [UInt8] = [], version: Timestamp = .zero
  ) {
    self.id = id
    self.target = target
    self.purpose = purpose
    self.resumeToken = resumeToken
    self.version = version
  }

  /// The one document that is listened to, if it is one.
  var document: DocumentPath? {
    guard case .document(let path) = target.source else { return nil }
    return path
  }
}

/// What a server said until one moment, consistent in itself: the store and the views take it in as a whole.
package struct RemoteEvent: Sendable, Hashable {
  /// The moment; zero of what is not a snapshot of the server's.
  package var version: Timestamp
  /// What changed for targets.
  package var targets: [TargetID: TargetChange] = [:]
  /// The targets that are asked for anew, since the client had other documents than the server.
  package var mismatches: [TargetID: TargetPurpose] = [:]
  /// The documents that were sent, as they are now. A missing one of version zero is forgotten.
  package var documents: [DocumentPath: Document] = [:]
  /// Those of them that only limbo asked for.
  package var resolvedLimbo: Set<DocumentPath> = []
}
