package import ConiferQuery
package import ConiferTree

/// When the server last spoke for targets without a view, as far as that is known in this run, and what its time is now.
///
/// A cache that holds a target completely does not hold since when. The targets that were noted last are remembered.
package final class ServerTimes {
  private let clock: () -> Int64
  private var newer: [QueryTarget: Int64] = [:]
  private var older: [QueryTarget: Int64] = [:]

  /// How many targets are noted before the older half is forgotten: a backend keeps 1,000 queries that nobody listens to.
  static let most = 1_000

  /// Nothing is known yet.
  ///
  /// - Parameter clock: the server's time in milliseconds since 1970; always the same where nobody asks for times.
  package init(_ clock: @escaping () -> Int64 = { 0 }) { self.clock = clock }

  /// The server's time now, as far as it is known.
  package var now: Int64 { clock() }

  /// How many targets are remembered.
  var count: Int { newer.count + older.count }

  /// Remembers when the server last spoke for a target.
  package func note(_ target: QueryTarget, at time: Int64) {
    if newer.count >= Self.most { (older, newer) = (newer, [:]) }
    let target = target.normalized
    older[target] = nil
    newer[target] = time
  }

  /// A cache forgot what it held at a path: what the server said of it counts no longer.
  package func forget(around path: Path) {
    let isApart = { (noted: (key: QueryTarget, value: Int64)) in
      !noted.key.path.contains(path) && !path.contains(noted.key.path)
    }
    (newer, older) = (newer.filter(isApart), older.filter(isApart))
  }

  /// When the server last spoke for what a cache holds of a target.
  ///
  /// - Parameter isOwn: whether the cache holds the result of the query itself; otherwise it is a part of a whole node,
  ///   here or above.
  package func time(of target: QueryTarget, isOwn: Bool) -> Int64? {
    if count == 0 { return nil }
    if isOwn { return time(target.normalized) }
    var newest: Int64?
    var path: Path? = target.path
    while let place = path {
      if let time = time(QueryTarget(place)) { newest = max(newest ?? time, time) }
      path = place.parent
    }
    return newest
  }

  private func time(_ target: QueryTarget) -> Int64? { newer[target] ?? older[target] }
}
