public import ConiferFirestore
public import Observation

/// A document, kept up to date on the main actor as long as the model lives.
@MainActor @Observable
public final class ObservedDocument<Value: Decodable & Sendable> {
  /// What was heard last and could be decoded; nil where there is no such document, and before anything was heard.
  public private(set) var value: Value?
  /// Where it comes from, whether writes wait in it, and as of when the server told it; nil before anything was heard.
  public private(set) var metadata: SnapshotMetadata?
  /// Whether it was heard, and why not.
  public private(set) var phase = ObservedPhase<FirestoreError>.waiting
  @ObservationIgnored private var following: Following?

  /// Begins to listen, also to changes of the metadata.
  ///
  /// - Parameters:
  ///   - reference: the document.
  ///   - type: what to make of it.
  public init(_ reference: DocumentReference, as type: Value.Type = Value.self) {
    following = Following(reference.snapshots(includeMetadataChanges: true), by: self) {
      $0.take($1)
    } ended: {
      $0.phase = $1
    }
  }

  /// Listens no longer; what was heard stays.
  public func stop() { following?.end() }

  private func take(_ snapshot: DocumentSnapshot) {
    metadata = snapshot.metadata
    do throws(FirestoreError) {
      value = snapshot.exists ? try snapshot.data(as: Value.self) : nil
      phase = .current
    } catch { phase = .failed(error) }
  }
}
