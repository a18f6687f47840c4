package import ConiferDocument

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
  package var document: DocumentPath? {
    guard case .document(let path) = target.source else { return nil }
    return path
  }
}
