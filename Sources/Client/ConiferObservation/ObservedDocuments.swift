import ConiferDocument
public import ConiferFirestore
public import Observation

/// The documents of a query in its order, kept up to date on the main actor as long as the model lives.
///
/// Only documents that have changed are decoded again. One that cannot be decoded is left out, and named.
@MainActor @Observable
public final class ObservedDocuments<Element: Decodable & Sendable> {
  /// The documents, by the query's order; each by its path.
  public private(set) var rows: [ObservedRow<Element>] = []
  /// Why documents are not among the rows, by path.
  public private(set) var faults: [String: FirestoreError] = [:]
  /// Where they come from, whether writes wait in them, and as of when the server told them; nil before anything was
  /// heard.
  public private(set) var metadata: SnapshotMetadata?
  /// Whether they were heard, and why not.
  public private(set) var phase = ObservedPhase<FirestoreError>.waiting
  @ObservationIgnored private var following: Following?
  @ObservationIgnored private var decoded =
    DecodedRows<MapValue?, Element, FirestoreError>()

  /// Begins to listen, also to changes of the metadata.
  ///
  /// - Parameters:
  ///   - query: the query.
  ///   - type: what to make of each document.
  public init(_ query: Query, of type: Element.Type = Element.self) {
    following = Following(query.snapshots(includeMetadataChanges: true), by: self) {
      $0.take($1)
    } ended: {
      $0.phase = $1
    }
  }

  /// Listens no longer; what was heard stays.
  public func stop() { following?.end() }

  private func take(_ snapshot: QuerySnapshot) {
    let isChanged = decoded.take(snapshot.documents) { document in
      // Not the metadata, which changes with the connection.
      (document.reference.path, document.document.fields)
    } decode: { (document) throws(FirestoreError) in
      try document.data(as: Element.self)
    }
    if isChanged { (rows, faults) = (decoded.rows, decoded.faults) }
    (metadata, phase) = (snapshot.metadata, .current)
  }
}
