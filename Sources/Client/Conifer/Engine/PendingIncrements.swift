import ConiferStorage
import ConiferTree

/// Acknowledged increments whose results are not known yet, and the queries that are incomplete until then.
struct PendingIncrements {
  private var waiting: [QueryID: (query: StoredQuery, places: Set<Path>)] = [:]

  /// Complete queries become incomplete until the value at a place is known; those that wait already for
  /// another place wait for this one too.
  mutating func wait(for place: Path, _ complete: [StoredQuery]) {
    for stored in complete { waiting[stored.id, default: (stored, [])].places.insert(place) }
    for (id, entry) in waiting where entry.query.query.path.contains(place) {
      waiting[id]?.places.insert(place)
    }
  }

  /// The value at a place is known.
  ///
  /// - Returns: the queries that are complete with it.
  mutating func resolve(_ place: Path) -> [StoredQuery] {
    var whole: [StoredQuery] = []
    for (id, entry) in waiting where entry.places.contains(place) {
      waiting[id]?.places.remove(place)
      guard entry.places.count == 1 else { continue }
      waiting[id] = nil
      whole.append(entry.query)
    }
    return whole.sorted { $0.id < $1.id }
  }

  /// The value at a place stays unknown: its queries stay incomplete until they are listened to.
  mutating func forget(_ place: Path) {
    waiting = waiting.filter { !$0.value.query.query.path.contains(place) }
  }
}
