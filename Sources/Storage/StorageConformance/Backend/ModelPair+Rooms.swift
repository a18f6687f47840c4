internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

/// Data for the eviction checks: incompressible rooms, each with a query.
extension ModelPair {
  /// A list of random texts; equal for equal seeds.
  func noise(_ leaves: Int, seed: UInt64 = 7, length: Int = 150) -> Node {
    var random = SeededRandom(seed: seed)
    return Node(children: (0..<leaves).map { (Key("m\($0)"), random.noise(length)) })
  }

  /// A room of the first tree or another, with a complete query.
  @discardableResult
  func makeRoom(
    _ room: Int, in tree: TreeID? = nil, leaves: Int = 60, lastUse: UInt64
  ) async throws -> QueryID {
    let (tree, path) = (tree ?? self.tree, Path("rooms/r\(room)"))
    return try await commit(
      .overwrite(tree, path, noise(leaves, seed: UInt64(room + 1))),
      .saveQuery(TrackedQuery(tree: tree, path: path, isComplete: true, lastUse: lastUse))
    ).queries[0]
  }

  /// Rooms with a query each, the first room used before the second one and so on.
  @discardableResult
  func makeRooms(_ count: Int, leaves: Int = 60) async throws -> [QueryID] {
    var ids: [QueryID] = []
    for room in 0..<count {
      ids.append(try await makeRoom(room, leaves: leaves, lastUse: UInt64(room + 1)))
    }
    return ids
  }

  /// Data in `foo/a`, `foo/b` and `foo/c`, and default queries at some paths, the first the oldest.
  func overlap(_ paths: [Path]) async throws -> [QueryID] {
    for (index, key) in ["a", "b", "c"].enumerated() {
      try await set(Path("foo/\(key)"), noise(60, seed: UInt64(index)))
    }
    return try await commit(
      paths.enumerated().map { index, path in
        .saveQuery(TrackedQuery(tree: tree, path: path, lastUse: UInt64(index + 1)))
      }
    ).queries
  }

  /// Evicts byte by byte until no query can be evicted; returns the rooms in order of eviction.
  func evictEach() async throws -> [Int] {
    var rooms: [Int] = []
    while true {
      let report = try await evict(to: max(0, backend.evicting().space().cache - 1))
      rooms += report.queries.compactMap { $0.path.last.flatMap { Int($0.string.dropFirst()) } }
      if report.queries.isEmpty { return rooms }
    }
  }
}
