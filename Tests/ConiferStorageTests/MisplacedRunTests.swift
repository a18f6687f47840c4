import ConiferKeyValue
import ConiferTree
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Runs and deltas that stand under keys that nobody wrote: a cache drops the range and goes on, an
/// authority says that it is damaged.
@Suite struct MisplacedRunTests {
  private static let tree = TreeID(rawValue: 1)

  /// A store with a run or delta under another key.
  private struct Forged {
    let store: MemoryStore
    let place: String
    /// Whether an older value may be there again.
    let isDelta: Bool
    /// The path keys that are gone from their place.
    let gone: Set<Bytes>
  }

  private static func written(_ number: Int) -> Node {
    let room = DamageTests.room(number)
    return number == 1 ? room.setting(Path("m7/text"), to: "changed") : room
  }

  /// Every run and delta, moved and copied, to places before, behind and among the others.
  private static func forged() async throws -> [Forged] {
    let original = try await DamageTests.filled()
    let records = try DamageTests.records(original)
    let runs = records.filter { $0.space == Spaces.runs }.map(\.key)
    let numbers = try original.numbers(tree).map { StoreKey.number($0) }
    let view = try LeafStore(original, .none).openSnapshot()
    defer { view.close() }
    let reader = RunReader(view: view, tree: tree)
    var all: [Forged] = []
    for record in records where [Spaces.runs, Spaces.deltas].contains(record.space) {
      let isDelta = record.space == Spaces.deltas
      var keys: [Bytes] = []
      if isDelta {
        keys = numbers.map { record.key.prefix(4) + $0 + record.key.dropFirst(12) }
      } else {
        keys = runs.map { $0 + [1] }
        keys += [Bytes(record.key.prefix(4)), record.key + [0], record.key + [0xFF]]
        keys.append(record.key.prefix(4) + Bytes(repeating: 0xFF, count: 8))
        keys.append(record.key.prefix(max(4, record.key.count - 8)) + Bytes(repeating: 0, count: 8))
      }
      var own: Set<Bytes> = []
      if !isDelta {
        let head = try RunHead(storeKey: record.key, value: record.value)
        own = Set(try reader.merged(head).map(\.key))
      }
      for key in keys where key != record.key && !runs.contains(key) {
        for isMoved in [false, true] {
          let store = try DamageTests.copy(original)
          var batch = Batch()
          if isMoved { batch.delete(record.space, record.key) }
          let payload = Bytes(record.value.dropFirst(Record.overhead))
          batch.put(record.space, key, Record.seal(record.space, key, payload))
          _ = try store.apply(batch, .relaxed)
          let place =
            "\(Damage.hex(record.key)) \(isMoved ? "moved" : "copied") to \(Damage.hex(key))"
          all.append(
            Forged(store: store, place: place, isDelta: isDelta, gone: isMoved ? own : []))
        }
      }
    }
    return all
  }

  @Test func `A cache drops what is out of place and goes on`() async throws {
    var drops = 0
    for forged in try await Self.forged() {
      let (store, place) = (forged.store, Comment(rawValue: forged.place))
      let backend = try MemoryBackend(store, name: "memory", options: StorageOptions())
      let isTold = try !backend.verify().isSound
      let root = try backend.node(Self.tree, .root)
      let incidents = try backend.read { (view) throws(StoreError) in try view.incidents() }
      let dropped = incidents.filter { $0.kind == .cacheRangeDropped }
      if !dropped.isEmpty { drops += 1 }
      for number in 0..<DamageTests.rooms {
        let path = Path("rooms/r\(number)")
        let found = root[path]
        let alone = try backend.node(Self.tree, path)
        #expect(found == alone || isTold, place)
        let written = [Self.written(number)] + (forged.isDelta ? [DamageTests.room(number)] : [])
        if written.contains(found) { continue }
        #expect(isTold || !dropped.isEmpty, place)
        let isComplete = try backend.read { (view) throws(StoreError) in
          try view.isComplete(Self.tree, path)
        }
        #expect(!isComplete || dropped.isEmpty, place)
      }
      // What comes again is there, also in another opening.
      try await backend.commit([.overwrite(Self.tree, "new", DamageTests.room(3))])
      for number in 0..<DamageTests.rooms {
        let path = Path("rooms/r\(number)")
        try await backend.commit([.overwrite(Self.tree, path, Self.written(number))])
      }
      try backend.finishMending()
      let again = try MemoryBackend(
        try DamageTests.copy(store), name: "memory", options: StorageOptions())
      #expect(try again.node(Self.tree, "new") == DamageTests.room(3), place)
      for number in 0..<DamageTests.rooms {
        let path = Path("rooms/r\(number)")
        #expect(try again.node(Self.tree, path) == Self.written(number), place)
      }
      _ = try again.node(Self.tree, .root)
      try await again.close()
      try await backend.close()
    }
    #expect(drops > 0)
  }

  @Test func `A narrow read is wrong in nothing that it is not told of`() async throws {
    var (told, hidden) = (0, 0)
    for forged in try await Self.forged() where !forged.isDelta {
      let place = Comment(rawValue: forged.place)
      for number in 0..<DamageTests.rooms {
        for message in [0, 1, 13, 27, 31, 44, 58, 59] {
          // Nothing but this leaf is read of the store.
          let backend = try MemoryBackend(
            try DamageTests.copy(forged.store), name: "memory", options: StorageOptions())
          let room = Path("rooms/r\(number)")
          let leaf = Path("m\(message)/text")
          // That a record is gone is no reader's to see; that one hides others is.
          let key = PathKey.encode(Path(room.keys + leaf.keys), .realtimeDatabase)
          if forged.gone.contains(key) { continue }
          let found = try backend.node(Self.tree, Path(room.keys + leaf.keys))
          let (isComplete, incidents) = try backend.read { (view) throws(StoreError) in
            (try view.isComplete(Self.tree, room), try view.incidents())
          }
          if !incidents.isEmpty { told += 1 }
          if found != Self.written(number)[leaf], isComplete { hidden += 1 }
          #expect(found == Self.written(number)[leaf] || !isComplete, place)
          try await backend.close()
        }
      }
    }
    #expect(told > 0)
    #expect(hidden == 0)
  }

  @Test func `An authority answers that what is out of place is damaged, and keeps it`()
    async throws
  {
    for forged in try await Self.forged() {
      let place = Comment(rawValue: forged.place)
      let options = StorageOptions(role: .authority)
      let backend = try MemoryBackend(forged.store, name: "memory", options: options)
      let runs = try forged.store.keys(Spaces.runs)
      do throws(StoreError) {
        _ = try backend.read { (view) throws(StoreError) in try view.node(Self.tree, .root) }
      } catch {
        #expect(error.code == .damaged, place)
      }
      var readable = 0
      for number in 0..<DamageTests.rooms {
        let path = Path("rooms/r\(number)")
        do throws(StoreError) {
          _ = try backend.read { (view) throws(StoreError) in try view.node(Self.tree, path) }
          readable += 1
        } catch {
          #expect(error.code == .damaged, place)
        }
      }
      #expect(readable > 0, place)
      #expect(try forged.store.keys(Spaces.runs) == runs, place)
      try await backend.close()
    }
  }
}
