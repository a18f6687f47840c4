internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

/// Which rooms of a ``NodeStream`` a store holds, and how much of each.
struct RoomHoldings {
  private struct Room {
    var leaves = 0
    var isTracked = false
  }

  private var rooms: [Int: Room] = [:]

  /// No room.
  init() {}

  /// Reads what a store holds.
  init(_ view: any StorageView, _ tree: TreeID, _ path: Path) throws(StoreError) {
    for key in try view.childKeys(tree, path, after: nil, limit: .max) {
      let children = try view.childKeys(tree, path.appending(key), after: nil, limit: .max)
      rooms[Self.number(key), default: Room()].leaves = children.count
    }
    for query in try view.trackedQueries(tree, after: nil, limit: .max)
    where query.query.path.count == path.count + 1 {
      guard let key = query.query.path.last else { continue }
      rooms[Self.number(key), default: Room()].isTracked = true
    }
  }

  private static func number(_ key: Key) -> Int { Int(key.string.dropFirst()) ?? 0 }

  /// Reads what a commit recorded.
  init(bytes: some Collection<UInt8>) {
    var rest = Array(bytes)
    while rest.count >= 6 {
      rooms[rest[..<4].reduce(0) { $0 << 8 | Int($1) }] = Room(
        leaves: Int(rest[4]), isTracked: rest[5] == 1)
      rest.removeFirst(6)
    }
  }

  /// The bytes that a commit records.
  var bytes: [UInt8] {
    rooms.sorted { $0.key < $1.key }.flatMap {
      key($0.key).suffix(4) + [UInt8(clamping: $0.value.leaves), $0.value.isTracked ? 1 : 0]
    }
  }

  /// Adds a room with its query.
  mutating func add(_ number: Int, leaves: Int) {
    rooms[number] = Room(leaves: leaves, isTracked: true)
  }

  func isTracked(_ number: Int) -> Bool { rooms[number]?.isTracked == true }
  func leaves(_ number: Int) -> Int { rooms[number]?.leaves ?? 0 }

  /// Requires that others hold nothing that is not here, and that what they lack may be lacking.
  func requireOnlyLess(_ found: RoomHoldings, mayBeLess: Bool, _ when: String) throws {
    for number in Set(rooms.keys).union(found.rooms.keys) {
      let (was, isNow) = (rooms[number] ?? Room(), found.rooms[number] ?? Room())
      try require(
        isNow.leaves <= was.leaves && (was.isTracked || !isNow.isTracked), .resurrected,
        "of room \(number) \(isNow.leaves) leaves are there \(when), there were \(was.leaves)")
      try require(
        mayBeLess || isNow.leaves == was.leaves && isNow.isTracked == was.isTracked,
        .lostAcknowledged,
        "of room \(number) \(was.leaves - isNow.leaves) leaves are gone \(when), and nothing was "
          + "evicted")
    }
  }
}
