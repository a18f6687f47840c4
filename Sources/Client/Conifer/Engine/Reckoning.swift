import ConiferStorage
import ConiferTree

/// Queries that are not taken for complete until the server has told what it made of an increment.
struct Reckoning {
  private var waiting: [QueryID: (query: StoredQuery, places: Set<Path>)] = [:]

  /// Notes that a complete query is not, for want of a place; also one that was not before.
  mutating func wait(for place: Path, _ complete: [StoredQuery]) {
    for stored in complete { waiting[stored.id, default: (stored, [])].places.insert(place) }
    for (id, entry) in waiting where entry.query.query.path.contains(place) {
      waiting[id]?.places.insert(place)
    }
  }

  /// Notes that a place is known; gives the queries that lack no more.
  mutating func settle(_ place: Path) -> [StoredQuery] {
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
