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
  /// The snapshots of which the rows and faults were made.
  @ObservationIgnored private var known:
    [String: (snapshot: QueryDocumentSnapshot, row: Result<Element, FirestoreError>)] = [:]

  /// Begins to listen, also to changes of the metadata.
  ///
  /// - Parameters:
  ///   - query: the query.
  ///   - type: what to make of each document.
  public init(_ query: Query, of type: Element.Type = Element.self) {
    following = Following(query.snapshots(includeMetadataChanges: true), by: self) {
      $0.take($1)
    } failed: {
      $0.phase = .failed($1)
    }
  }

  /// Listens no longer; what was heard stays.
  public func stop() { following?.end() }

  private func take(_ snapshot: QuerySnapshot) {
    var next: [String: (snapshot: QueryDocumentSnapshot, row: Result<Element, FirestoreError>)] =
      [:]
    var (rows, faults): ([ObservedRow<Element>], [String: FirestoreError]) = ([], [:])
    for document in snapshot.documents {
      let path = document.reference.path
      let decoded: Result<Element, FirestoreError>
      if let old = known[path], old.snapshot == document {
        decoded = old.row
      } else {
        decoded = Result { () throws(FirestoreError) in try document.data(as: Element.self) }
      }
      next[path] = (document, decoded)
      switch decoded {
      case .success(let value): rows.append(ObservedRow(id: path, value: value))
      case .failure(let error): faults[path] = error
      }
    }
    (known, self.rows, self.faults) = (next, rows, faults)
    (metadata, phase) = (snapshot.metadata, .current)
  }
}
