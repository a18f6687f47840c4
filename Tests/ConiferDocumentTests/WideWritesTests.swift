import TestSupport
import Testing

@testable import ConiferDocument

/// Writes of many fields: what they give is what one field after the other gives, at a cost that grows with their number.
///
/// Where each field was compared with each other one, or a map was copied for each, those of 20,000 fields took minutes.
@Suite struct `Wide writes` {
  private static let names = ["a", "b", "c", "é", "e\u{301}"]

  private static func path(_ random: inout Seeded) -> FieldPath {
    FieldPath(unchecked: (0...random.below(3)).map { _ in random.pick(names) })
  }

  private static func map(_ random: inout Seeded, depth: Int = 3) -> MapValue {
    MapValue(
      (0..<random.below(5)).map { _ -> (String, DocumentValue) in
        let isMap = depth > 0 && random.chance(60)
        let value: DocumentValue =
          isMap ? .map(map(&random, depth: depth - 1)) : .integer(Int64(random.below(9)))
        return (random.pick(names), value)
      })
  }

  @Test(arguments: Seeded.seeds(4))
  func `a mask takes what its fields take one after the other`(seed: UInt64) {
    var random = Seeded(seed)
    for _ in 0..<3_000 {
      let (map, other) = (Self.map(&random), Self.map(&random))
      let mask = FieldMask((0..<random.below(6)).map { _ in Self.path(&random) })
      let expected = mask.paths.reduce(map) { map, path in
        other[path].map { map.setting(path, to: $0) } ?? map.removing(path)
      }
      #expect(
        map.taking(mask, from: other) == expected,
        "seed \(seed): \(mask.paths) of \(other) over \(map)")
    }
  }

  @Test(arguments: Seeded.seeds(4))
  func `a mask finds what is at, within and around a field`(seed: UInt64) {
    var random = Seeded(seed)
    for _ in 0..<3_000 {
      let mask = FieldMask((0..<random.below(6)).map { _ in Self.path(&random) })
      let field = Self.path(&random)
      let isCovered = mask.paths.contains { $0.contains(field) }
      let isReached = mask.paths.contains { field.contains($0) }
      #expect(mask.covers(field) == isCovered, "seed \(seed): \(field) in \(mask.paths)")
      #expect(mask.reaches(into: field) == isReached, "seed \(seed): \(field) in \(mask.paths)")
      #expect(mask.overlaps(field) == (isCovered || isReached), "seed \(seed)")
    }
  }

  private static let count = 20_000

  private static func batch(_ mutation: Mutation) -> MutationBatch {
    MutationBatch([mutation], written: Writes.time(1)) { Document($0, .unseen) }
  }

  private static func integers(_ prefix: String, _ value: Int64) -> [(String, WriteValue)] {
    (0..<count).map { ("\(prefix)\($0)", .value(.integer(value))) }
  }

  @Test func `merges of many fields are laid over a document of many fields`() throws {
    let path = Writes.path()
    let server = Writes.found(
      MapValue(Self.integers("f", 0).map { ($0.0, DocumentValue.integer(0)) }))
    let waiting = try [
      Mutation.merge(path, Self.integers("f", 1), in: Writes.database),
      Mutation.merge(path, [("m", .map(Self.integers("g", 2)))], in: Writes.database),
      Mutation.merge(path, [("m", .map(Self.integers("g", 3)))], in: Writes.database),
    ].map(Self.batch)
    let overlay = try #require(Overlay(of: waiting, over: server))
    let shown = try #require(overlay.applied(to: server).fields)
    #expect(shown.count == Self.count + 1)
    #expect(shown["f7"] == 1 && shown["m"]?.map?.count == Self.count)
    #expect(shown["m"]?.map?["g19999"] == 3)
    #expect(overlay.isDecided(by: waiting.reversed(), oldest: waiting[0], over: server))
    #expect(!overlay.isDecided(by: waiting.suffix(2), oldest: waiting[0], over: server))
    let further = try Self.batch(
      Mutation.merge(path, Self.integers("f", 4), in: Writes.database))
    let later = Overlay(of: [further], behind: overlay, over: server)
    #expect(later?.applied(to: server).fields?["f19999"] == 4)
  }

  @Test func `an update and a merge of named fields take many, in any order`() throws {
    let path = Writes.path()
    let data = Self.integers("g", 5).reversed().map { ($0.0, $0.1) }
    let fields = data.map { FieldPath(unchecked: ["m", $0.0]) }
    let update = try Mutation.update(
      path, zip(fields, data).map { ($0, $1.1) }, in: Writes.database)
    #expect(update.applied(to: Writes.found([:]), written: .zero).fields?["m"]?.map?["g3"] == 5)
    let merge = try Mutation.merge(
      path, [("m", .map(data)), ("n", 1)], fields: fields, in: Writes.database)
    #expect(
      merge.change == .patch(["m": .map(MapValue(data.map { ($0.0, 5) }))], FieldMask(fields), []))
    let times = try Mutation.update(
      path, fields.prefix(500).map { ($0, .serverTimestamp) }, in: Writes.database)
    let server = Writes.found(["m": .map(MapValue(data.map { ($0.0, 5) }))])
    let overlay = try #require(Overlay(of: [update, times].map(Self.batch), over: server))
    let shown = overlay.applied(to: server).fields?["m"]?.map
    #expect(shown?["g19999"] == .serverTimestamp(written: Writes.time(1), previous: 5))
    #expect(shown?["g0"] == 5)
  }
}
