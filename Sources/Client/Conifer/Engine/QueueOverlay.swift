import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree

/// Waiting writes of a lane, with their server values resolved as the views are to show them.
struct QueueOverlay {
  /// A waiting write.
  struct Entry {
    let id: OverlayID
    let changes: [NodeChange]
  }

  let view: any StorageView
  let lane: Lane
  /// The server's time.
  let now: Int64
  private var writes: [WriteID: QueuedWrite] = [:]
  /// Places with server values.
  private var places: Set<Path> = []
  /// What filtered queries hold.
  private var keys: [QueryID: Set<Key>] = [:]
  /// What is known at the places: first what is cached, then with each write over it.
  private var known = Node.empty

  /// What the server has just answered; it counts instead of what is stored.
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

  /// The writes that change something at, above or below a path, in order.
  ///
  /// Where they hold server values, earlier writes to those places are taken along, so that each is
  /// resolved over what was there before it.
  ///
  /// - Throws: as the view's reads.
  mutating func entries(touching paths: Path...) throws(StoreError) -> [Entry] {
    try entries(touching: paths)
  }

  /// The same for several paths.
  ///
  /// - Throws: as the view's reads.
  mutating func entries(touching paths: [Path]) throws(StoreError) -> [Entry] {
    for path in paths { try collect(path) }
    return try resolved().map(\.entry)
  }

  /// What a new write is resolved to behind all that wait, and what the next one may go on from.
  ///
  /// - Throws: as the view's reads.
  mutating func resolve(_ write: QueuedWrite) throws(StoreError) -> (Entry, QueuedValues?) {
    try collect(write)
    writes = writes.filter { $0.key < write.id }
    writes[write.id] = write
    let entry = try resolved().last?.entry ?? Entry(write, write.content.changes)
    return (entry, QueuedValues(lane, write, known))
  }

  /// Takes the waiting writes that touch a path, and what their server values depend on.
  private mutating func collect(_ path: Path) throws(StoreError) {
    for id in try view.pendingWrites(lane, touching: path) where writes[id] == nil && !hasEnded(id)
    {
      guard let write = try view.write(lane, id) else { continue }
      writes[id] = write
      try collect(write)
    }
  }

  /// Takes what the server values of a write depend on.
  private mutating func collect(_ write: QueuedWrite) throws(StoreError) {
    for change in write.content.changes where change.node.hasServerValues {
      let place = change.path.owner
      guard !places.cover(place) else { continue }
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

  private mutating func resolved() throws(StoreError) -> [(id: WriteID, entry: Entry)] {
    var result: [(id: WriteID, entry: Entry)] = []
    for (id, write) in writes.sorted(by: { $0.key < $1.key }) {
      guard !places.isEmpty else {
        result.append((id, Entry(write, write.content.changes)))
        continue
      }
      let changes = write.content.changes.map { change in
        NodeChange(
          change.path, change.node.resolvingServerValues(over: known[change.path], now: now))
      }
      for change in changes { known = known.setting(change.path, to: change.node) }
      result.append((id, Entry(write, changes)))
    }
    return result
  }
}

extension Set<Path> {
  /// Whether a place or one above it is among these.
  func cover(_ place: Path) -> Bool {
    var next: Path? = place
    while let here = next {
      if contains(here) { return true }
      next = here.parent
    }
    return false
  }
}

extension QueueOverlay.Entry {
  fileprivate init(_ write: QueuedWrite, _ changes: [NodeChange]) {
    self.init(
      id: OverlayID(write.id.rawValue), changes: changes)
  }
}
