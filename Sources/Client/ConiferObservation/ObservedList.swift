public import Conifer
import ConiferTree
public import Observation

/// The children of a place or a query in its order, kept up to date on the main actor as long as the model lives.
///
/// Only children that have changed are decoded again. One that cannot be decoded is left out, and named.
@MainActor @Observable
public final class ObservedList<Element: Decodable & Sendable> {
  /// The children, by the query's order.
  public private(set) var rows: [ObservedRow<Element>] = []
  /// Why children are not among the rows, by key.
  public private(set) var faults: [String: DatabaseError] = [:]
  /// Whether they were from the cache, whether writes waited in them, and when the server last told them; nil before
  /// anything was heard. A change of it alone is not heard.
  public private(set) var metadata: DataSnapshot.Metadata?
  /// Whether they were heard, and why not.
  public private(set) var phase = ObservedPhase<DatabaseError>.waiting
  @ObservationIgnored private var following: Following?
  @ObservationIgnored private var sorted = SortedRows<Element, DatabaseError>()

  /// Begins to observe.
  ///
  /// - Parameters:
  ///   - query: what to observe.
  ///   - type: what to make of each child.
  public init(_ query: DatabaseQuery, of type: Element.Type = Element.self) {
    following = Following(query.snapshots, by: self) {
      $0.take($1)
    } ended: {
      $0.phase = $1
    }
  }

  /// Observes no longer; what was heard stays.
  public func stop() { following?.end() }

  private func take(_ snapshot: DataSnapshot) {
    let changes = sorted.take(snapshot.node, rows) {
      snapshot.precedes($0, $1)
    } decode: { (child) throws(DatabaseError) in
      try snapshot.snapshot(of: child).data(as: Element.self)
    }
    if changes.hasRows { changes.apply(to: &rows) }
    if !changes.faults.isEmpty {
      faults = changes.faults.reduce(into: faults) { $0[$1.key] = $1.value }
    }
    (metadata, phase) = (snapshot.metadata, .current)
  }
}
