import ConiferStorage
import ConiferTree

/// Increments that were acknowledged and whose results the server has still to tell, and the queries that are
/// not complete until then.
struct OpenIncrements {
  private var waiting: [QueryID: (query: StoredQuery, places: Set<Path>)] = [:]

  /// Notes that a complete query is not, for want of a place; also one that was not before.
  mutating func wait(for place: Path, _ complete: [StoredQuery]) {
    for stored in complete { waiting[stored.id, default: (stored, [])].places.insert(place) }
    for (id, entry) in waiting where entry.query.query.path.contains(place) {
      waiting[id]?.places.insert(place)
    }
  }

  /// Notes that the result at a place is known.
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

  /// Notes that a place stays unknown: the queries wait for a listen.
  mutating func forget(_ place: Path) {
    waiting = waiting.filter { !$0.value.query.query.path.contains(place) }
  }
}
