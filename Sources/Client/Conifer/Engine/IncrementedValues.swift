import ConiferStorage
import ConiferSync
import ConiferTree

/// The values of incremented places with all waiting writes applied, so that the next increment is resolved
/// without reading the queue.
///
/// The next write of the lane is resolved over them. They become invalid when the newest write is answered; when any
/// write is refused, given up or queued again; and when server data at a place is stored, or a query there is complete
/// again. Earlier writes that are acknowledged stay counted, as the server has done them.
struct IncrementedValues {
  /// The most places, since a write above them is applied to each. Increments of more places are
  /// resolved from the queue.
  private static let limit = 256

  private let lane: Lane
  /// The newest write that is applied in the values.
  private var id: WriteID
  /// The incremented places.
  private var places: Set<Path>
  /// The paths above places.
  private var above: Set<Path>
  /// The values at the places, and nothing else.
  private var known = Node.empty

  /// The values after a write of the places that it increments; nil when those are too many.
  init?(_ lane: Lane, _ write: QueuedWrite, _ known: Node) {
    (self.lane, id) = (lane, write.id)
    places = Set(
      write.content.changes.filter { !$0.node.isIdempotent }.map(\.path.owner))
    guard places.count <= Self.limit else { return nil }
    above = Set(places.flatMap { $0.prefixes.dropLast() })
    for place in places { self.known = self.known.setting(place, to: known[place]) }
  }

  /// Applies the next write of the lane.
  ///
  /// - Returns: its changes without server values, nil for those that increment other places; nil
  ///   in all when the values are no longer valid.
  mutating func apply(_ write: QueuedWrite, _ lane: Lane, now: Int64) -> [NodeChange?]? {
    guard lane == self.lane, write.id.rawValue == id.rawValue + 1 else { return nil }
    id = write.id
    var result: [NodeChange?] = []
    for change in write.content.changes {
      guard change.node.isIdempotent || places.covers(change.path.owner) else {
        guard !above.contains(change.path) else { return nil }
        result.append(nil)
        continue
      }
      let node = change.node.resolvingServerValues(over: known[change.path], now: now)
      result.append(NodeChange(change.path, node))
    }
    for case let change? in result { apply(change) }
    return result
  }

  private mutating func apply(_ change: NodeChange) {
    if places.covers(change.path) {
      known = known.setting(change.path, to: change.node)
    } else if above.contains(change.path) {
      for place in places {
        guard let below = place.relative(to: change.path) else { continue }
        known = known.setting(place, to: change.node[below])
      }
    }
  }

  /// Whether the values are still valid once an edit is stored.
  func holds(behind edit: StorageEdit) -> Bool {
    switch edit {
    // Children whose keys are stored come with their data.
    case .enqueue, .removeQuery, .setTrackedKeys, .updateTrackedKeys, .pin, .unpin: true
    // The cached value is the base of the increments again.
    case .saveQuery(let query): !query.isComplete || !isTouched(by: query.path)
    case .finish(_, let other, .acknowledged): other < id
    // The new write replaced all of the old one, and is applied to the values already.
    case .finish(_, let other, .superseded(by: let new)): other < id && new <= id
    case .setState(_, _, .sent), .setState(_, _, .outcomeUnknown): true
    case .overwrite(_, let path, _): !isTouched(by: path)
    case .merge(_, let path, let changes):
      !changes.contains { isTouched(by: path.appending($0.path)) }
    default: false
    }
  }

  private func isTouched(by path: Path) -> Bool { above.contains(path) || places.covers(path) }

  /// These values and those of other places after the same write; the other ones alone when all
  /// together are too many.
  func joined(_ other: IncrementedValues) -> IncrementedValues {
    var joined = self
    joined.places.formUnion(other.places)
    joined.above.formUnion(other.above)
    guard joined.places.count <= Self.limit else { return other }
    for place in other.places { joined.known = joined.known.setting(place, to: other.known[place]) }
    return joined
  }
}
