import ConiferKeyValue
import ConiferTree
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// An authority holds the only copy: whatever is done to it, a damaged range stays as it is, and
/// all around it can be used.
@Suite struct AuthorityTests {
  static let spaces = [Spaces.runs, Spaces.deltas, Spaces.chunks]

  static func options() -> StorageOptions {
    var options = StorageOptions()
    options.role = .authority
    return options
  }

  @Test func `No commit and no tidying drops a damaged range`() async throws {
    let original = try await DamageTests.filled()
    let tree = TreeID(rawValue: 1)
    for space in Self.spaces {
      for key in try original.keys(space) {
        let store = try DamageTests.copy(original)
        try store.damage(space, key)
        let damaged = try store.view().value(space, key)
        let backend = try MemoryBackend(store, name: "memory", options: Self.options())
        for path in ["rooms", "rooms/r1/m7/text", "large", "large/leaf"] as [Path] {
          do throws(StoreError) {
            _ = try await backend.commit([.overwrite(tree, path, .empty)])
          } catch { #expect(error.code == .damaged) }
        }
        do throws(StoreError) {
          _ = try await backend.commit([.prune(tree, PruneForest([.root: .prune]))])
        } catch { #expect(error.code == .damaged) }
        let isLeft = try await backend.tidy(.seconds(5))
        #expect(!isLeft)
        let place = "space \(space.id), key \(Damage.hex(key))"
        // A delta and a large leaf go with a run that can be read, when that is overwritten.
        if space == Spaces.runs {
          #expect(try store.view().value(space, key) == damaged, "\(place)")
        }
        let incidents = try backend.read { (view) throws(StoreError) in try view.incidents() }
        #expect(incidents.isEmpty, "\(place)")
        // Another part of the store is used as ever.
        try await backend.commit([.enqueue(Lane(tree: tree), .set("x", 1))])
        let other = try await backend.tree(named: "other")
        try await backend.commit([.overwrite(other, "x", 1)])
        try await backend.close()
      }
    }
  }

  @Test func `A damaged range leaves its neighbours readable and writable`() async throws {
    let original = try await DamageTests.filled()
    let tree = TreeID(rawValue: 1)
    let reader = RunReader(
      view: try LeafStore(original, .standard).openSnapshot(), tree: tree)
    let keys = try original.keys(Spaces.runs)
    func entries(_ key: Bytes) throws -> EntryList {
      let value = try #require(try original.view().value(Spaces.runs, key))
      return try reader.merged(RunHead(storeKey: key, value: value))
    }
    for (index, key) in keys.enumerated() {
      let store = try DamageTests.copy(original)
      try store.damage(Spaces.runs, key)
      let backend = try MemoryBackend(store, name: "memory", options: Self.options())
      // The last leaf before the damage and one behind it. The first behind it can be read, too, but
      // not be written: a leaf above it might stand in what is damaged.
      var places: [Path] = []
      if index > 0, let entry = try entries(keys[index - 1]).last {
        places.append(try #require(PathKey.path(entry.key, .realtimeDatabase)))
      }
      if index + 1 < keys.count, let entry = try entries(keys[index + 1]).dropFirst().first {
        places.append(try #require(PathKey.path(entry.key, .realtimeDatabase)))
      }
      for path in places where path.first == "rooms" {
        let node = try backend.read { (view) throws(StoreError) in try view.node(tree, path) }
        #expect(!node.isEmpty)
        try await backend.commit([.overwrite(tree, path, "new")])
        let read = try backend.read { (view) throws(StoreError) in try view.node(tree, path) }
        #expect(read == "new")
      }
      try await backend.close()
    }
  }
}
