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
        // Another part of the store is used as ever.
        try await backend.commit([.enqueue(Lane(tree: tree), .set("x", 1))])
        let other = try await backend.tree(named: "other")
        try await backend.commit([.overwrite(other, "x", 1)])
        try await backend.close()
      }
    }
  }

  /// A read, a commit and housekeeping.
  @Test(arguments: ["read", "commit", "tidy"])
  func `Damage that stays is told once, whatever met it`(by what: String) async throws {
    let original = try await DamageTests.filled()
    let tree = TreeID(rawValue: 1)
    func incidents(_ backend: some StorageBackend) throws -> [Incident] {
      try backend.read { (view) throws(StoreError) in try view.incidents() }
    }
    var told = 0
    for space in Self.spaces {
      for key in try original.keys(space) {
        let store = try DamageTests.copy(original)
        try store.damage(space, key)
        let damage = "space \(space.id), key \(Damage.hex(key))"
        var known: [Incident] = []
        for _ in 0..<2 {
          let opened = try DamageTests.copy(store)
          let backend = try MemoryBackend(opened, name: "memory", options: Self.options())
          let heard = Monitor(0)
          backend.observeIncidents { heard.change { $0 += 1 } }
          // The record, or the run that needs it.
          var place: StoreError.Place?
          do throws(StoreError) {
            switch what {
            case "read":
              _ = try backend.read { (view) throws(StoreError) in try view.node(tree, .root) }
            case "commit":
              for path in ["rooms/r1/m7/text", "large", "rooms/r2"] as [Path] {
                try await backend.commit([.overwrite(tree, path, "x")])
              }
            default: while try await backend.tidy(.seconds(5)) {}
            }
          } catch {
            #expect(error.code == .damaged)
            let found: StoreError.Place = try #require(error.place, "\(damage)")
            place = found
          }
          // What is reported is reported before this.
          try await backend.commit([.enqueue(Lane(tree: tree), .set("x", 1))])
          let now = try incidents(backend)
          if let place {
            let space = try #require(Spaces.all.first { $0.id == place.space })
            let words = RecordName.words(space, place.key, .realtimeDatabase)
            let expected = Incident(kind: .rangeUnreadable, tree: tree, place: words, bytes: [])
            #expect(now == [expected], "\(damage)")
          }
          #expect(now.count <= 1 && now.allSatisfy { $0.kind == .rangeUnreadable }, "\(damage)")
          #expect(heard.change { $0 } == (known.isEmpty ? now.count : 0), "\(damage)")
          if what == "read" { #expect(place != nil, "\(damage)") }
          if known.isEmpty { told += now.count }
          known = now
          // The next opening finds the report.
          let report = try opened.view().entries(Spaces.incidents, prefix: [])
          try await backend.close()
          var batch = Batch()
          for (key, value) in report { batch.put(Spaces.incidents, key, value) }
          _ = try store.apply(batch, .relaxed)
        }
      }
    }
    #expect(told > 0)
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
