import ConiferDocument
import ConiferKeyValue
import Synchronization
import TestSupport
import Testing

@testable import ConiferLeafStore
@testable import ConiferStorage

/// Overlays while the writes that they stand for are answered: they are what the waiting writes do, and an answer costs
/// the same however many wait.
@Suite struct OverlayKeepingTests {
  private static let database = DatabaseID(project: "p")
  private static let fields = ["a", "b", "m", "m.x", "m.y", "m.z.x", "m.z", "t"]

  private static func path() throws -> DocumentPath { try DocumentPath("c/d") }

  private static func time(_ seconds: Int64) -> Timestamp {
    (try? Timestamp(seconds: seconds)) ?? .zero
  }

  private static func value(_ random: inout Seeded) -> WriteValue {
    switch random.below(12) {
    case 0, 1: .serverTimestamp
    case 2, 3: .increment(1)
    case 4: .arrayUnion([.integer(Int64(random.below(3)))])
    case 5: .delete
    case 6: .map([])
    case 7: .map(["x", "y"].filter { _ in random.chance(60) }.map { ($0, value(&random)) })
    default: .value(.integer(Int64(random.below(3))))
    }
  }

  private static func data(_ random: inout Seeded) -> [(String, WriteValue)] {
    ["a", "b", "m", "t"].filter { _ in random.chance(50) }.map { ($0, value(&random)) }
  }

  /// Fields of an update, none within another one.
  private static func places(_ random: inout Seeded) throws -> [FieldPath] {
    var places: [FieldPath] = []
    for name in fields.shuffled(using: &random) where random.chance(50) {
      let field = try FieldPath(canonical: name)
      if !places.contains(where: { $0.contains(field) || field.contains($0) }) {
        places.append(field)
      }
    }
    return places
  }

  private static func mutation(_ random: inout Seeded, _ version: Timestamp) throws -> Mutation? {
    let path = try Self.path()
    let data = data(&random)
    switch random.below(20) {
    case 0: return try Mutation.delete(path)
    case 1, 2: return try? Mutation.set(path, data, in: database)
    case 3...6: return try? Mutation.merge(path, data, in: database)
    case 7...9:
      let names = try data.map { try FieldPath(canonical: $0.0) }
      return try? Mutation.merge(path, data, fields: names, in: database)
    case 10:
      let write = try? Mutation.merge(path, data, in: database)
      return write.map { Mutation(path, $0.change, if: .updateTime(version)) }
    default:
      return try? Mutation.update(
        path, places(&random).map { ($0, value(&random)) }, in: database)
    }
  }

  private static func batches(
    _ random: inout Seeded, over base: Document, count: Int
  ) throws -> [MutationBatch] {
    var shown = base
    // Some documents are written to in one way alone, as by a text that is typed.
    let same = random.chance(50) ? try mutation(&random, base.version) : nil
    return try (0..<count).map { number in
      let other = try mutation(&random, base.version)
      let write = random.chance(90) ? same ?? other : other
      let batch = MutationBatch(write.map { [$0] } ?? [], written: time(Int64(100 + number))) { _ in
        shown
      }
      shown = batch.applied(to: shown)
      return batch
    }
  }

  private static func base(_ random: inout Seeded, _ version: Int64) throws -> Document {
    let path = try Self.path()
    if random.chance(10) { return Document(path, .missing, version: time(version)) }
    var map: MapValue = [:]
    for name in ["a", "b", "t"] where random.chance(70) {
      map[name] = .integer(Int64(random.below(3)))
    }
    if random.chance(50) { map["m"] = ["x": .integer(Int64(random.below(3)))] }
    if random.chance(20) { map["m"] = ["z": ["x": 1]] }
    // A field within it is not there, and deleting one changes nothing.
    if random.chance(15) { map["m"] = 1 }
    return Document(path, .found(map), version: time(version))
  }

  @Test(arguments: Seeded.seeds(6))
  func `An overlay that stays is what the waiting writes do over what the server says then`(
    seed: UInt64
  ) throws {
    var random = Seeded(seed)
    var decided = 0
    for _ in 0..<1500 {
      let old = try Self.base(&random, 5)
      let all = try Self.batches(&random, over: old, count: 2 + random.below(6))
      let split = random.below(all.count)
      let first = Overlay(of: all[..<split], over: old)
      let overlay = Overlay(of: all[split...], behind: first, over: old)
      let shown = all.reduce(old) { $1.applied(to: $0) }
      #expect((overlay?.applied(to: old) ?? old) == shown, "seed \(seed): \(all) over \(old)")
      let gone = random.below(all.count - 1) + random.below(2)
      let left = Array(all[gone...])
      guard let overlay, let oldest = left.first, old.fields != nil else { continue }
      let new =
        random.chance(50)
        ? Document(
          old.path, all[..<gone].reduce(old) { $1.applied(to: $0) }.state, version: Self.time(6))
        : try Self.base(&random, random.pick([5, 6]))
      guard overlay.isDecided(by: left.reversed(), oldest: oldest, over: new) else { continue }
      decided += 1
      let expected = left.reduce(new) { $1.applied(to: $0) }
      #expect(
        overlay.applied(to: new) == expected,
        "seed \(seed): \(all) over \(old), \(gone) gone, over \(new): \(overlay)")
    }
    #expect(decided > 200, "\(decided) of seed \(seed)")
  }

  /// An update that replaces a map by one with a server timestamp does not alone decide what was there before.
  @Test(arguments: ["m", "m.x"])
  func `The previous value of a timestamp within a replaced map follows the server`(
    earlier: String
  ) throws {
    func update(_ field: String, _ value: WriteValue, _ written: Int64) throws -> MutationBatch {
      let field = try FieldPath(canonical: field)
      let write = try Mutation.update(Self.path(), [(field, value)], in: Self.database)
      return MutationBatch(written: Self.time(written), bases: [], mutations: [write])
    }
    let old = Document(try Self.path(), .found(["m": ["x": 1]]), version: Self.time(5))
    let first = try update(earlier, earlier == "m" ? .map([]) : .value(2), 100)
    let second = try update("m", .map([("x", .serverTimestamp)]), 101)
    let overlay = try #require(Overlay(of: [first, second], over: old))
    // The first was refused.
    #expect(
      !overlay.isDecided(by: [second], oldest: second, over: old)
        || overlay.applied(to: old) == second.applied(to: old))
    #expect(overlay.isDecided(by: [second, first], oldest: first, over: old) == (earlier == "m"))
  }

  @Test(arguments: Seeded.seeds(4))
  func `Overlays follow answers in any order, and what the server says with them`(
    seed: UInt64
  ) async throws {
    var random = Seeded(seed)
    let backend = try MemoryBackend(
      MemoryStore(), name: "memory", options: StorageOptions(budget: nil, compression: .none))
    let tree = try await backend.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree, identity: "anna")
    for round in 0..<12 {
      var base = try Self.base(&random, 5)
      try await backend.commit([.documents(tree, [.put(base)])])
      let batches = try Self.batches(&random, over: base, count: 12)
      var waiting = try await backend.commit(batches.map { .enqueue(lane, $0.payload) }).writes
      while !waiting.isEmpty {
        var edits: [StorageEdit] = []
        for _ in 0..<1 + random.below(2) where !waiting.isEmpty {
          let place = random.chance(90) ? 0 : random.below(waiting.count)
          let outcome = random.pick([WriteOutcome.acknowledged, .acknowledged, .discarded])
          edits.append(.finish(lane, waiting.remove(at: place), outcome))
        }
        if random.chance(60) {
          base = try Self.base(&random, 6 + Int64(round))
          edits.insert(.documents(tree, [.put(base)]), at: random.below(edits.count + 1))
        }
        try await backend.commit(edits)
        let report = try backend.verify()
        try #require(report.isSound, "seed \(seed), round \(round): \(report.findings)")
      }
      let overlay = try backend.readDocuments { (view) throws(StoreError) in
        try view.document(lane, base.path)
      }
      #expect(overlay == base)
    }
    try await backend.close()
  }

  /// Over the document of now both show the same, but not over what the server says next.
  @Test func `An overlay that lacks a field or takes another previous value is found`()
    async throws
  {
    let path = try Self.path()
    let base = Document(path, .found(["a": 1, "b": 2, "t": 5]), version: Self.time(5))
    func field(_ name: String) throws -> FieldPath { try FieldPath([name]) }
    let merge = try Mutation.merge(
      path, [("a", .value(9)), ("b", .value(2)), ("t", .value(5))], in: Self.database)
    let time = try Mutation.merge(path, [("t", .serverTimestamp)], in: Self.database)
    let replaced = try Mutation.set(
      path, [("a", .value(9)), ("b", .value(2)), ("t", .value(5))], in: Self.database)
    let stamp = DocumentValue.serverTimestamp(written: Self.time(100), previous: 5)
    let all = try FieldMask(["a", "b", "t"].map { try field($0) })
    let some = try FieldMask(["a", "t"].map { try field($0) })
    let patched: MapValue = ["a": 9, "b": 2, "t": stamp]
    let forged: [(writes: [Mutation], overlay: Overlay, isSound: Bool)] = [
      ([merge, time], Overlay(path, .patch(patched, all)), true),
      ([merge, time], Overlay(path, .patch(["a": 9, "t": stamp], some)), false),
      ([merge, time], try Overlay(path, .patch(patched, all), stamped: [field("t")]), false),
      // Rows of before the first release do not tell whose previous values are the document's.
      ([time], try Overlay(path, .patch(["t": stamp], FieldMask([field("t")]))), true),
      ([replaced], Overlay(path, .set(["a": 9, "b": 2, "t": 5])), true),
      ([replaced], Overlay(path, .patch(["a": 9, "b": 2, "t": 5], all)), false),
    ]
    for (number, (writes, overlay, isSound)) in forged.enumerated() {
      let store = MemoryStore()
      let backend = try MemoryBackend(
        store, name: "memory", options: StorageOptions(budget: nil, compression: .none))
      let tree = try await backend.tree(named: "documents", order: .documents)
      let lane = Lane(tree: tree)
      try await backend.commit([.documents(tree, [.put(base)])])
      let batch = MutationBatch(written: Self.time(100), bases: [], mutations: writes)
      try await backend.commit([.enqueue(lane, batch.payload)])
      #expect(try backend.verify().isSound)
      var edit = Batch()
      let key = OverlayRows(view: try store.view(), lane: lane).key(path)
      let payload = OverlayRows.payload(overlay)
      edit.put(Spaces.overlays, key, Record.seal(Spaces.overlays, key, payload))
      _ = try store.apply(edit, .relaxed)
      let shown = try backend.readDocuments { (view) throws(StoreError) in
        try view.document(lane, path)
      }
      #expect(shown.fields == batch.applied(to: base).fields, "forged overlay \(number)")
      let findings = try backend.verify().findings.filter { $0.kind == .content }
      #expect(findings.isEmpty == isSound, "forged overlay \(number): \(findings)")
      try await backend.close()
    }
  }

  @Test(arguments: [true, false])
  func `Of documents that are written whole, those that a query gives are read`(
    isFirst: Bool
  ) async throws {
    let backend = try MemoryBackend(
      MemoryStore(), name: "memory", options: StorageOptions(budget: nil, compression: .none))
    let tree = try await backend.tree(named: "documents", order: .documents)
    let lane = Lane(tree: tree)
    let paths = try (0..<10).map { try DocumentPath("c/d\($0)") }
    let bases = paths.enumerated().map { number, path in
      Document(
        path, .found(["t": .integer(Int64(number))]), version: Self.time(Int64(5 + number)),
        readTime: Self.time(Int64(50 + number)))
    }
    try await backend.commit([.documents(tree, bases.map { .put($0) })])
    for (number, path) in paths.enumerated() {
      let write = try Mutation.set(
        path, [("n", .value(.integer(Int64(number)))), ("t", .serverTimestamp)], in: Self.database)
      let batch = MutationBatch(written: Self.time(100), bases: [], mutations: [write])
      try await backend.commit([.enqueue(lane, batch.payload)])
    }
    let all = DocumentQuery(.collection(paths[0].collection), in: Self.database)
    let query = try all.ordered(by: FieldPath(["n"]))
    let limited = try isFirst ? query.limited(to: 2) : query.limited(toLast: 2)
    let answer = try backend.readDocuments { (view) throws(StoreError) in
      try view.query(lane, limited)
    }
    let numbers = isFirst ? [0, 1] : [8, 9]
    #expect(answer.documents.map(\.path) == numbers.map { paths[$0] })
    for (document, number) in zip(answer.documents, numbers) {
      #expect(document.readTime == bases[number].readTime)
      #expect(
        document.fields?["t"]
          == .serverTimestamp(written: Self.time(100), previous: .integer(Int64(number))))
    }
    // All ten are stored too, and none of these matches by itself.
    #expect(answer.explanation.overlays == 10 && answer.explanation.documentsRead <= 12)
    let whole = try backend.readDocuments { (view) throws(StoreError) in
      try view.query(lane, query)
    }
    #expect(whole.explanation.documentsRead == answer.explanation.documentsRead + 8)
  }

  @Test(arguments: ["value", "increment", "timestamp", "all", "set"])
  func `An answer costs the same however many writes to its document wait`(
    kind: String
  ) async throws {
    func cost(_ count: Int) async throws -> Int {
      let probe = ProbeStore()
      let backend = try PackedBackend(
        probe, name: "probe", options: StorageOptions(budget: nil, compression: .none))
      let tree = try await backend.tree(named: "documents", order: .documents)
      let lane = Lane(tree: tree)
      let path = try Self.path()
      var base = Document(path, .found(["n": 0, "text": "", "at": .timestamp(.zero)]))
      try await backend.commit([.documents(tree, [.put(base)])])
      var writes: [WriteID] = []
      for number in 0..<count {
        var pairs: [(String, WriteValue)] = []
        if ["value", "all", "set"].contains(kind) {
          pairs.append(("text", .value(.string("\(number)"))))
        }
        if ["increment", "all"].contains(kind) { pairs.append(("n", .increment(1))) }
        if ["timestamp", "all"].contains(kind) { pairs.append(("at", .serverTimestamp)) }
        let write =
          try kind == "set"
          ? Mutation.set(path, pairs, in: Self.database)
          : Mutation.merge(path, pairs, in: Self.database)
        let batch = MutationBatch([write], written: Self.time(Int64(number))) { _ in
          Document(path, .found(["n": .integer(Int64(number))]))
        }
        writes += try await backend.commit([.enqueue(lane, batch.payload)]).writes
      }
      let before = probe.lent.withLock { $0 }
      for (number, id) in writes.enumerated() {
        base = Document(
          path,
          .found([
            "n": .integer(Int64(number + 1)), "text": .string("\(number)"),
            "at": .timestamp(Self.time(1000 + Int64(number))),
          ]), version: Self.time(1000 + Int64(number)))
        try await backend.commit([
          .documents(tree, [.put(base)]), .finish(lane, id, .acknowledged),
        ])
      }
      let total = probe.lent.withLock { $0 } - before
      #expect(try backend.verify().isSound)
      try await backend.close()
      return total / count
    }
    let (few, many) = try await (cost(20), cost(120))
    #expect(
      many <= few + few / 4, "\(few) records for an answer, \(many) where six times as many wait")
  }

  @Test(arguments: [false, true])
  func `Of a waiting batch an answer reads as much a document, however many it writes`(
    isMerge: Bool
  ) async throws {
    func cost(_ count: Int) async throws -> Int {
      let probe = ProbeStore()
      let backend = try PackedBackend(
        probe, name: "probe", options: StorageOptions(budget: nil, compression: .none))
      let tree = try await backend.tree(named: "documents", order: .documents)
      let lane = Lane(tree: tree)
      let paths = try (0..<count).map { try DocumentPath("c/\($0)") }
      func batch(_ number: Int) throws -> MutationBatch {
        let writes = try paths.map { path in
          let pairs = [("n", WriteValue.increment(1))]
          return isMerge
            ? try Mutation.merge(path, pairs, in: Self.database)
            : try Mutation.set(path, pairs, in: Self.database)
        }
        return MutationBatch(writes, written: Self.time(Int64(number))) { Document($0, .unseen) }
      }
      let writes = try await backend.commit(
        (0..<3).map { .enqueue(lane, try batch($0).payload) }
      ).writes
      let before = probe.lentBytes.withLock { $0 }
      let words = paths.map { Document($0, .found(["n": 1]), version: Self.time(1000)) }
      try await backend.commit([
        .documents(tree, words.map { .put($0) }), .finish(lane, writes[0], .acknowledged),
      ])
      let total = probe.lentBytes.withLock { $0 } - before
      #expect(try backend.verify().isSound)
      let shown = try backend.readDocuments { (view) throws(StoreError) in
        try view.document(lane, paths[0])
      }
      #expect(shown.fields?["n"] == .integer(isMerge ? 3 : 1))
      try await backend.close()
      return total / count
    }
    let (few, many) = try await (cost(40), cost(400))
    #expect(many <= few * 2, "\(few) bytes a document, \(many) of a batch of ten times as many")
  }
}
