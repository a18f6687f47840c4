import ConiferDocument
import TestSupport
import Testing

@Suite struct `Overlays` {
  /// A write that fails must not set the value that its increment began with.
  @Test(arguments: [5, 7])
  func `an increment with a condition on the version is done, or leaves the document alone`(
    version: Int64
  ) {
    let path = Writes.path()
    func document(_ n: Int64, _ version: Int64) -> Document {
      Document(path, .found(["n": .integer(n)]), version: Writes.time(version))
    }
    let increment = FieldTransform(Writes.field("n"), .increment(.integer(1)))
    let write = Mutation(
      path, .patch(.empty, FieldMask([]), [increment]), if: .updateTime(Writes.time(5)))
    let batch = MutationBatch([write], written: Writes.time(9)) { _ in document(1, 5) }
    let shown = batch.applied(to: document(100, version))
    #expect(shown.fields == ["n": version == 5 ? 101 : 100])
    #expect(
      (Overlay(of: [batch], over: document(100, version))?.applied(to: document(100, version))
        ?? document(100, version)).fields == shown.fields)
  }

  private static let names = ["a", "b", "c"]

  private static func field(_ random: inout Seeded) -> FieldPath {
    Writes.field((0...random.below(3)).map { _ in random.pick(names) }.joined(separator: "."))
  }

  private static func value(_ random: inout Seeded, depth: Int = 2) -> WriteValue {
    switch random.below(depth > 0 ? 9 : 6) {
    case 0: return .increment(random.pick([1, 2.5]))
    case 1: return .serverTimestamp
    case 2: return .arrayUnion([random.pick([1, 2])])
    case 3: return .arrayRemove([1])
    case 4: return [1, 2]
    case 5: return .value(.integer(Int64(random.below(4))))
    default: return .map(pairs(&random, depth: depth - 1))
    }
  }

  private static func pairs(_ random: inout Seeded, depth: Int = 2) -> [(String, WriteValue)] {
    (0..<random.below(3)).map { _ in (random.pick(names), value(&random, depth: depth)) }
  }

  private static func mutation(_ random: inout Seeded) -> Mutation? {
    let path = random.chance(90) ? Writes.path() : Writes.path("c/other")
    let database = Writes.database
    switch random.below(10) {
    case 0: return try? Mutation.delete(path, if: random.pick([.none, .exists(true)]))
    case 1: return try? Mutation.set(path, pairs(&random), in: database)
    case 2: return try? Mutation.verify(path, if: .exists(true))
    case 3, 4, 5:
      var data = pairs(&random)
      if random.chance(40) { data.append((random.pick(names), .delete)) }
      if random.chance(40) { data.append((random.pick(names), [random.pick(names): .delete])) }
      return try? Mutation.merge(path, data, in: database)
    default:
      let data = (0..<1 + random.below(2)).map { _ in
        (field(&random), random.chance(40) ? .delete : value(&random))
      }
      return try? Mutation.update(path, data, in: database)
    }
  }

  private static func base(_ random: inout Seeded) -> Document {
    switch random.below(5) {
    case 0: return Writes.missing
    case 1: return Writes.unseen
    default:
      let fields = (try? Mutation.set(Writes.path(), pairs(&random), in: Writes.database))?
        .applied(to: Writes.missing, written: .zero).fields?.resolved(.estimate)
      return Document(
        Writes.path(), .found(fields ?? .empty), version: Writes.time(5),
        createTime: Writes.time(3))
    }
  }

  /// Batches as an app makes them: each upon what the ones before it show.
  private static func batches(_ random: inout Seeded, over base: Document) -> [MutationBatch] {
    var shown = base
    return (0..<random.below(6)).map { number in
      let mutations = (0..<1 + random.below(3)).compactMap { _ in mutation(&random) }
      let batch = MutationBatch(mutations, written: Writes.time(Int64(100 + number))) {
        $0 == base.path ? shown : Document($0, .unseen)
      }
      shown = batch.applied(to: shown)
      return batch
    }
  }

  /// A value as an app may write it, also what the service refuses.
  private static func anyValue(_ random: inout Seeded, depth: Int = 2) -> WriteValue {
    switch random.below(depth > 0 ? 12 : 8) {
    case 0: return .delete
    case 1: return .minimum(2)
    case 2: return .maximum(.double(2.5))
    case 3: return .arrayUnion([RandomValues.value(&random, depth: 1)])
    case 4: return .arrayRemove([RandomValues.value(&random, depth: 1)])
    case 5, 6: return value(&random)
    case 7: return .value(RandomValues.value(&random))
    case 8: return .array([anyValue(&random, depth: depth - 1)])
    default: return .map(anyPairs(&random, depth: depth - 1))
    }
  }

  private static func anyPairs(_ random: inout Seeded, depth: Int = 2) -> [(String, WriteValue)] {
    (0..<random.below(4)).map { _ in (random.pick(names), anyValue(&random, depth: depth)) }
  }

  /// What is queued here must not be refused when the device is online again.
  @Test(arguments: Seeded.seeds(4))
  func `a server takes as it is whatever write can be made`(seed: UInt64) {
    var random = Seeded(seed)
    var made = 0
    for _ in 0..<3_000 {
      let (path, database) = (Writes.path(), Writes.database)
      let write: Mutation?
      switch random.below(4) {
      case 0: write = try? .set(path, Self.anyPairs(&random), in: database)
      case 1: write = try? .merge(path, Self.anyPairs(&random), in: database)
      case 2:
        let data = Self.anyPairs(&random, depth: 3)
        let fields = (0..<1 + random.below(4)).map { _ in Self.field(&random) }
        write = try? .merge(path, data, fields: fields, in: database)
      default:
        let data = (0..<random.below(4)).map { _ in (Self.field(&random), Self.anyValue(&random)) }
        write = try? .update(path, data, in: database)
      }
      guard let write else { continue }
      made += 1
      do throws(DocumentError) {
        let checked = try write.checked(in: database)
        #expect(checked == write, "seed \(seed)")
      } catch {
        Issue.record("seed \(seed): \(error) of \(write)")
      }
    }
    #expect(made > 500, "seed \(seed)")
  }

  @Test(arguments: Seeded.seeds(4))
  func `an overlay does what the batches do one after the other`(seed: UInt64) {
    var random = Seeded(seed)
    var written = 0
    for _ in 0..<1_500 {
      let base = Self.base(&random)
      let batches = Self.batches(&random, over: base)
      let expected = batches.reduce(base) { $1.applied(to: $0) }
      let overlay = Overlay(of: batches, over: base)
      #expect((overlay == nil) == (expected == base), "seed \(seed): \(batches) over \(base)")
      let result = overlay?.applied(to: base) ?? base
      #expect(
        result == expected,
        "seed \(seed): \(batches) over \(base) is \(String(describing: overlay))")
      if overlay != nil { written += 1 }
    }
    #expect(written > 500)
  }

  @Test func `a batch that is applied again upon its own result counts once`() throws {
    let update = try Mutation.update(
      Writes.path(), [(Writes.field("n"), .increment(2)), (Writes.field("x.m"), .increment(1))],
      in: Writes.database)
    let base = Writes.found(["n": 5, "o": 1])
    let batch = MutationBatch([update], written: Writes.time(1)) { _ in base }
    let once = batch.applied(to: base)
    #expect(once.fields == ["n": 7, "o": 1, "x": ["m": 1]])
    #expect(batch.applied(to: once).fields == once.fields)
    // The server's own result, too, with what else changed there.
    let sent = Writes.found(["n": 7, "o": 2, "x": ["m": 1]], version: 9)
    #expect(batch.applied(to: sent).fields == ["n": 7, "o": 2, "x": ["m": 1]])
    // A missing document is no base, so nothing is made of it.
    #expect(batch.applied(to: Writes.missing) == Writes.missing)
  }

  /// Only the server knows when a document was made that waiting writes make anew.
  @Test func `a document that is deleted and set again keeps the server's creation time`() throws {
    let base = Document(
      Writes.path(), .found(["a": 1]), version: Writes.time(5), createTime: Writes.time(3))
    let mutations = try [
      Mutation.delete(Writes.path()),
      Mutation.set(Writes.path(), [("b", 2)], in: Writes.database),
    ]
    let batches = mutations.map { MutationBatch([$0], written: Writes.time(9)) { _ in base } }
    let pending = batches.reduce(base) { $1.applied(to: $0) }
    let overlay = try #require(Overlay(of: batches, over: base))
    #expect(overlay.applied(to: base) == pending && pending.createTime == Writes.time(3))
    #expect(pending.fields == ["b": 2] && pending.version == .zero)
    // Once it has accepted both, nobody here knows the time until it tells it.
    var accepted = base
    for mutation in mutations {
      accepted = try mutation.acknowledged(
        on: accepted, updateTime: nil, commitTime: Writes.time(10))
    }
    #expect(accepted.fields == ["b": 2] && accepted.createTime == nil)
  }

  @Test func `a field that is deleted leaves what is around it to the server`() throws {
    let update = try Mutation.update(
      Writes.path(), [(Writes.field("a.b"), .delete)], in: Writes.database)
    let batch = MutationBatch([update], written: .zero) { _ in Writes.unseen }
    let overlay = Overlay(of: [batch], over: Writes.found(["a": ["b": 1, "x": 1]]))
    let changed = Writes.found(["a": ["b": 2, "x": 2]], version: 9)
    #expect(overlay?.applied(to: changed).fields == ["a": ["x": 2]])
    // Where the map around it came with the writes it comes with the overlay.
    let set = try Mutation.merge(Writes.path(), [("a", ["b": 1])], in: Writes.database)
    let both = MutationBatch([set, update], written: .zero) { _ in Writes.unseen }
    #expect(
      Overlay(of: [both], over: Writes.found([:]))?.applied(to: Writes.found([:])).fields == [
        "a": [:]
      ])
  }

  @Test func `nothing is laid over a document that no write reaches`() throws {
    let update = try Mutation.update(Writes.path(), [(Writes.field("a"), 1)], in: Writes.database)
    let batch = MutationBatch([update], written: .zero) { _ in Writes.missing }
    #expect(Overlay(of: [batch], over: Writes.missing) == nil)
    #expect(Overlay(of: [], over: Writes.found([:])) == nil)
  }
}
