import ConiferKeyValue
import ConiferTree
import Synchronization
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Reports of damage: what came after a position.
@Suite struct IncidentTests {
  private typealias Kind = Incident.Kind

  private let store = MemoryStore()
  private let backend: MemoryBackend

  init() throws { backend = try MemoryBackend(store, name: "memory", options: StorageOptions()) }

  private func report(_ tree: TreeID, _ kind: Kind, _ place: String) async throws {
    try await backend.commit([
      .report(Incident(kind: kind, tree: tree, place: place, bytes: [1]))
    ])
  }

  private func position() throws -> IncidentPosition {
    try backend.read { (view) throws(StoreError) in try view.incidentPosition() }
  }

  private func places(after position: IncidentPosition) throws -> [String] {
    try backend.read { (view) throws(StoreError) in try view.incidents(after: position) }
      .map(\.place)
  }

  @Test func `Each new report is told once, also when a tree keeps no more of them`() async throws {
    let tree = try await backend.tree(named: "main")
    let start = try position()
    for number in 0..<Incidents.maximumReports + 5 {
      let before = try position()
      try await report(tree, number % 50 == 7 ? .writeSetAside : .cacheRangeDropped, "\(number)")
      #expect(try places(after: before) == ["\(number)"])
      #expect(try position().count(since: before) == 1)
    }
    #expect(try position().count(since: start) == Incidents.maximumReports + 5)
    #expect(try places(after: position()) == [])
    let kept = try backend.read { (view) throws(StoreError) in try view.incidents() }
    #expect(kept.count { $0.kind != .writeSetAside } <= Incidents.maximumReports)
    #expect(kept.count { $0.kind == .writeSetAside } == 6)
  }

  @Test func `Reports are told by tree, those of writes last`() async throws {
    let (tree, other) = (try await backend.tree(named: "a"), try await backend.tree(named: "b"))
    try await report(other, .writeSetAside, "b1")
    try await report(tree, .writeSetAside, "a1")
    let before = try position()
    let kinds: [Kind] = [.cacheRangeDropped, .writeSetAside, .recordSetAside, .writeSetAside]
    for (number, kind) in kinds.enumerated() {
      try await report(other, kind, "b\(number + 2)")
      try await report(tree, kind, "a\(number + 2)")
    }
    #expect(try places(after: before) == ["a2", "a4", "a3", "a5", "b2", "b4", "b3", "b5"])
    #expect(
      try places(after: IncidentPosition())
        == ["a2", "a4", "a1", "a3", "a5", "b2", "b4", "b1", "b3", "b5"])
    try await backend.commit([.wipe(other)])
    try await report(tree, .cacheRangeDropped, "a6")
    #expect(try places(after: before) == ["a2", "a4", "a6", "a3", "a5"])
  }

  @Test(arguments: [1, 2, 3, 7, 100])
  func `Windows give each report once, in order, and read no more than they give`(
    limit: Int
  ) async throws {
    for number in 0..<60 {
      let tree = try await backend.tree(named: "\(number % 3)")
      try await report(tree, number % 5 < 2 ? .writeSetAside : .cacheRangeDropped, "\(number)")
    }
    let all = try places(after: IncidentPosition())
    #expect(Set(all).count == 60)
    for ending in ["", "1"] {
      var (end, found, hasMore) = (IncidentPosition(), [String](), true)
      while hasMore {
        let view = CountingView(try store.view())
        let window = try Incidents.window(view, after: end, limit: limit) {
          $0.place.hasSuffix(ending)
        }
        // Besides what it gives, the one that ends each kind of each tree.
        #expect(!ending.isEmpty || view.count <= window.incidents.count + 6)
        view.close()
        found += window.incidents.map(\.place)
        (end, hasMore) = (window.end, window.hasMore)
        #expect(window.incidents.count <= limit)
      }
      #expect(found == all.filter { $0.hasSuffix(ending) })
      #expect(try end == position())
    }
    let end = try position()
    let none = try backend.read { (view) throws(StoreError) in
      try view.incidents(after: end, limit: 0) { _ in true }
    }
    #expect(none == IncidentWindow(incidents: [], end: end, hasMore: false))
    let one = try backend.read { (view) throws(StoreError) in
      try view.incidents(after: IncidentPosition(), limit: 0) { _ in true }
    }
    #expect(one.incidents.map(\.place) == Array(all.prefix(1)) && one.hasMore)
  }

  @Test func `A window ends where its bytes are many, and none is skipped`() async throws {
    let tree = try await backend.tree(named: "main")
    let sizes = [10, 3 << 20, 400_000, 400_000, 400_000, 400_000, 7]
    for (number, size) in sizes.enumerated() {
      try await backend.commit([
        .report(
          Incident(
            kind: .writeSetAside, tree: tree, place: "\(number)",
            bytes: Bytes(repeating: 1, count: size)))
      ])
    }
    var (windows, end, hasMore) = ([[Int]](), IncidentPosition(), true)
    while hasMore {
      let window = try backend.read { (view) throws(StoreError) in
        try view.incidents(after: end, limit: 100) { _ in true }
      }
      windows.append(window.incidents.map(\.bytes.count))
      (end, hasMore) = (window.end, window.hasMore)
    }
    #expect(windows == [[10, 3 << 20], [400_000, 400_000, 400_000], [400_000, 7]])
    #expect(try places(after: IncidentPosition()) == sizes.indices.map { "\($0)" })
  }

  @Test(arguments: [1 << 61, 1 << 62 - 1, 1 << 62 + 300, 1 << 63 - 1, .max] as [UInt64])
  func `A report is told beside one with a forged number`(number: UInt64) async throws {
    let tree = try await backend.tree(named: "main")
    let key = StoreKey.prefix(tree) + StoreKey.number(number)
    var writer = ByteWriter([number < 1 << 62 ? 1 : 3])
    writer.sized("forged")
    var batch = Batch()
    batch.put(Spaces.incidents, key, Record.seal(Spaces.incidents, key, writer.bytes))
    _ = try store.apply(batch, .relaxed)
    for round in 0..<4 {
      for kind in [Kind.writeSetAside, .cacheRangeDropped] {
        let before = try position()
        try await report(tree, kind, "\(round)")
        #expect(try places(after: before).last == "\(round)")
      }
    }
  }
}

extension Incidents {
  /// All reports at once.
  static func all(_ view: any OrderedView) throws(StoreError) -> [Incident] {
    var (all, end, hasMore): ([Incident], IncidentPosition, Bool) = ([], IncidentPosition(), true)
    while hasMore {
      let window = try window(view, after: end, limit: .max) { _ in true }
      all += window.incidents
      (end, hasMore) = (window.end, window.hasMore)
    }
    return all
  }
}

/// A view that counts which entries it lends.
private final class CountingView: OrderedView {
  private let base: any OrderedView
  private let lent = Atomic(0)

  init(_ base: any OrderedView) { self.base = base }

  var count: Int { lent.load(ordering: .relaxed) }

  func get<R>(
    _ space: Space, _ key: Bytes, _ read: (RawSpan) -> R
  ) throws(StoreError) -> R? {
    lent.add(1, ordering: .relaxed)
    return try base.get(space, key, read)
  }

  func walk(
    _ space: Space, _ origin: Origin, _ visit: (_ key: RawSpan, _ value: RawSpan) -> Step
  ) throws(StoreError) {
    try base.walk(space, origin) { key, value in
      lent.add(1, ordering: .relaxed)
      return visit(key, value)
    }
  }

  func walkKeys(
    _ space: Space, _ origin: Origin, _ visit: (_ key: RawSpan, _ size: Int) -> Step
  ) throws(StoreError) { try base.walkKeys(space, origin, visit) }

  func walkLocked(
    _ space: Space, _ origin: Origin,
    _ visit: (_ key: RawSpan, _ size: Int, _ why: MissingKey) -> Step
  ) throws(StoreError) { try base.walkLocked(space, origin, visit) }

  func close() { base.close() }
}
