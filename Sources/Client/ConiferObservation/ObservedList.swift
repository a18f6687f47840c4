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
  /// Whether they were heard, and why not.
  public private(set) var phase = ObservedPhase<DatabaseError>.waiting
  @ObservationIgnored private var following: Following?
  /// The nodes of which the rows and faults were made.
  @ObservationIgnored private var known:
    [String: (node: Node, row: Result<Element, DatabaseError>)] =
      [:]

  /// Begins to observe.
  ///
  /// - Parameters:
  ///   - query: what to observe.
  ///   - type: what to make of each child.
  public init(_ query: DatabaseQuery, of type: Element.Type = Element.self) {
    following = Following(query.snapshots, by: self) {
      $0.take($1)
    } failed: {
      $0.phase = .failed($1)
    }
  }

  /// Observes no longer; what was heard stays.
  public func stop() { following?.end() }

  private func take(_ snapshot: DataSnapshot) {
    var next: [String: (node: Node, row: Result<Element, DatabaseError>)] = [:]
    var (rows, faults): ([ObservedRow<Element>], [String: DatabaseError]) = ([], [:])
    for child in snapshot.children {
      let key = child.key
      let decoded: Result<Element, DatabaseError>
      if let old = known[key], old.node == child.node {
        decoded = old.row
      } else {
        decoded = Result { () throws(DatabaseError) in try child.data(as: Element.self) }
      }
      next[key] = (child.node, decoded)
      switch decoded {
      case .success(let value): rows.append(ObservedRow(id: key, value: value))
      case .failure(let error): faults[key] = error
      }
    }
    (known, self.rows, self.faults, phase) = (next, rows, faults, .current)
  }
}
