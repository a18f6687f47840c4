public import Conifer
public import Observation

/// The value of a place or a query, kept up to date on the main actor as long as the model lives.
///
/// A view that reads ``value`` is updated when it changes: at once from the cache and for local writes, and later by the
/// server.
@MainActor @Observable
public final class ObservedValue<Value: Decodable & Sendable> {
  /// What was heard last and could be decoded; nil where there is nothing, and before anything was heard.
  public private(set) var value: Value?
  /// Whether that was from the cache, whether writes waited in it, and when the server last told it; nil before anything
  /// was heard. A change of it alone is not heard.
  public private(set) var metadata: DataSnapshot.Metadata?
  /// Whether it was heard, and why not.
  public private(set) var phase = ObservedPhase<DatabaseError>.waiting
  @ObservationIgnored private var following: Following?

  /// Begins to observe.
  ///
  /// - Parameters:
  ///   - query: what to observe.
  ///   - type: what to make of it.
  public init(_ query: DatabaseQuery, as type: Value.Type = Value.self) {
    following = Following(query.snapshots, by: self) {
      $0.take($1)
    } ended: {
      $0.phase = $1
    }
  }

  /// Observes no longer; what was heard stays.
  public func stop() { following?.end() }

  private func take(_ snapshot: DataSnapshot) {
    metadata = snapshot.metadata
    do throws(DatabaseError) {
      value = snapshot.exists() ? try snapshot.data(as: Value.self) : nil
      phase = .current
    } catch { phase = .failed(error) }
  }
}
