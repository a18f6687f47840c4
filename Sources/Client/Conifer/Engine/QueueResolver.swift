import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree

/// A queued write as the views show it: without server values.
struct ResolvedWrite {
  let position: LanePosition
  let changes: [NodeChange]

  fileprivate init(_ write: QueuedWrite, _ changes: [NodeChange]) {
    position = LanePosition(write.id)
    self.changes = changes
  }
}

/// Reads waiting writes of a lane by path, and resolves their server values over what is known and over one another.
struct QueueResolver {
  let view: any StorageView
  let lane: Lane
  /// The server's time.
  let now: Int64
  private var collected: [WriteID: QueuedWrite] = [:]
  /// Places with server values.
  private var places: Set<Path> = []
  /// The keys of children that filtered queries hold.
  private var keys: [QueryID: Set<Key>] = [:]
  /// The known values at the places: those that are cached, and then each write over them.
  private var known = Node.empty

  /// What the server has just answered; it replaces what is stored.
  private let answer: (target: QueryTarget, node: Node)?
  /// Which writes have ended.
  private let hasEnded: (WriteID) -> Bool

  /// A reader of what waits in a lane.
  ///
  /// - Parameters:
  ///   - answer: what the server has just told of a target, which may not be stored yet.
  ///   - hasEnded: which writes do not wait any longer, though the store shows them.
  init(
    _ view: any StorageView, _ lane: Lane, now: Int64,
    over answer: (target: QueryTarget, node: Node)? = nil,
    hasEnded: @escaping (WriteID) -> Bool = { _ in false }
  ) {
    self.view = view
    self.lane = lane
    self.now = now
    self.answer = answer
    self.hasEnded = hasEnded
  }

  /// The writes that change something at, above or below one of the paths, in order.
  ///
  /// Where they hold server values, earlier writes to those places are taken along, so that each is
  /// resolved over what was there before it.
  ///
  /// - Throws: as the view's reads.
  mutating func writes(touching paths: [Path]) throws(StoreError) -> [ResolvedWrite] {
    for path in paths { try collect(path) }
    return resolved()
  }

  /// A new write resolved behind all waiting ones, and the values over which the next one may be
  /// resolved without the queue.
  ///
  /// - Throws: as the view's reads.
  mutating func resolve(_ write: QueuedWrite) throws(StoreError) -> (
    ResolvedWrite, IncrementedValues?
  ) {
    try collectBase(of: write)
    collected = collected.filter { $0.key < write.id }
    collected[write.id] = write
    let entry = resolved().last ?? ResolvedWrite(write, write.content.changes)
    return (entry, IncrementedValues(lane, write, known))
  }

  /// Takes the waiting writes that touch a path, and what their server values depend on.
  private mutating func collect(_ path: Path) throws(StoreError) {
    for id in try view.pendingWrites(lane, touching: path)
    where collected[id] == nil && !hasEnded(id) {
      guard let write = try view.write(lane, id) else { continue }
      collected[id] = write
      try collectBase(of: write)
    }
  }

  /// Takes what the server values of a write depend on.
  private mutating func collectBase(of write: QueuedWrite) throws(StoreError) {
    for change in write.content.changes where change.node.hasServerValues {
      let place = change.path.owner
      guard !places.covers(place) else { continue }
      places.insert(place)
      if let value = answered(place) {
        known = known.setting(place, to: value)
      } else if try isKnown(place) {
        known = known.setting(place, to: try view.node(lane.tree, place))
      }
      try collect(place)
    }
  }

  /// The value of a place in the server's answer; nil when it is not part of that.
  private func answered(_ place: Path) -> Node? {
    guard let answer, let below = place.relative(to: answer.target.path) else { return nil }
    guard !answer.target.spec.isDefault else { return answer.node[below] }
    // A filtered answer has its children whole.
    return below.first.flatMap { answer.node[$0].isEmpty ? nil : answer.node[below] }
  }

  /// Whether all of a place is cached: by a complete query at or above it, or with a child that a
  /// filtered query holds.
  private mutating func isKnown(_ place: Path) throws(StoreError) -> Bool {
    if try view.isComplete(lane.tree, place) { return true }
    var next = place
    while let parent = next.parent, let key = next.last {
      for stored in try view.trackedQueries(lane.tree, at: parent) where !stored.query.isDefault {
        if keys[stored.id] == nil {
          keys[stored.id] = Set(try view.trackedKeys(lane.tree, stored.id))
        }
        if keys[stored.id]?.contains(key) == true { return true }
      }
      next = parent
    }
    return false
  }

  private mutating func resolved() -> [ResolvedWrite] {
    var result: [ResolvedWrite] = []
    for (_, write) in collected.sorted(by: { $0.key < $1.key }) {
      guard !places.isEmpty else {
        result.append(ResolvedWrite(write, write.content.changes))
        continue
      }
      let changes = write.content.changes.map { change in
        NodeChange(
          change.path, change.node.resolvingServerValues(over: known[change.path], now: now))
      }
      for change in changes { known = known.setting(change.path, to: change.node) }
      result.append(ResolvedWrite(write, changes))
    }
    return result
  }
}

extension Set<Path> {
  /// Whether a place or one above it is among these.
  func covers(_ place: Path) -> Bool {
    var next: Path? = place
    while let here = next {
      if contains(here) { return true }
      next = here.parent
    }
    return false
  }
}
