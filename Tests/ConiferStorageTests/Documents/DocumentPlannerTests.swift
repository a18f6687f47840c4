import ConiferDocument
import ConiferKeyValue
import TestSupport
import Testing

@testable import ConiferStorage

@Suite struct DocumentPlannerTests: DocumentSampling {
  private typealias Samples = DocumentSamples

  // MARK: Against the whole collection

  @Test(arguments: Seeded.seeds(100))
  func `A plan gives what the whole collection gives`(seed: UInt64) throws {
    var random = Seeded(seed)
    let stored = StoredDocuments(Samples.documents(&random))
    var (hints, rounds) = (0, 0)
    // Few seeds have one hint among twelve queries.
    while rounds < 12 || (hints == 0 && rounds < 200) {
      rounds += 1
      let target = Samples.query(&random, over: stored.all).target
      var indexes = (0..<random.below(5)).map { _ in Samples.index(&random) }
      let expected = target.evaluate(stored.all)
      let answer = try stored.answer(target, indexes)
      #expect(
        answer.documents == expected,
        "seed \(seed): \(target.canonical) by \(answer.access) of \(indexes)")
      guard let hint = answer.hint else { continue }
      hints += 1
      indexes.append(hint)
      let helped = try stored.answer(target, indexes)
      #expect(
        helped.documents == expected,
        "seed \(seed): \(target.canonical) by \(helped.access) of \(indexes)")
      #expect(
        helped.access != .whole || helped.hint != hint,
        "seed \(seed): \(target.canonical), \(hint)")
    }
    #expect(hints > 0, "seed \(seed)")
  }

  @Test(arguments: Seeded.seeds(30))
  func `What the caller has in another state does not count for the limit`(seed: UInt64) throws {
    var random = Seeded(seed)
    let stored = StoredDocuments(Samples.documents(&random))
    for _ in 0..<6 {
      let target = Samples.query(&random, over: stored.all).target
      let indexes = (0..<random.below(4)).map { _ in Samples.index(&random) }
      let left = Set(stored.all.map(\.path).filter { _ in random.chance(30) })
      let answer = try stored.answer(target, indexes) { left.contains($0) }
      let expected = target.evaluate(stored.all.filter { !left.contains($0.path) })
      #expect(answer.documents == expected, "seed \(seed): \(target.canonical)")
    }
  }

  // MARK: Choices

  private var query: DocumentQuery {
    DocumentQuery(.collection(Samples.collections[0]), in: Samples.database)
  }

  private func stored(_ count: Int64 = 100) -> StoredDocuments {
    StoredDocuments((0..<count).map(document))
  }

  private func document(_ number: Int64) -> Document {
    let list: [DocumentValue] = [.integer(number % 3), .integer(number % 4)]
    var fields = MapValue.empty
    fields["a"] = .integer(number % 10)
    fields["b"] = .integer(number / 10)
    fields["list"] = .array(list)
    return Document(Samples.path("c/d\(number)"), .found(fields))
  }

  /// The answer, which is what the whole collection gives.
  private func answer(
    _ query: DocumentQuery, _ indexes: DocumentIndex...
  ) throws -> FoundDocuments {
    let stored = stored()
    let answer = try stored.answer(query.target, indexes)
    #expect(answer.documents == query.target.evaluate(stored.all))
    return answer
  }

  @Test func `An index gives the documents of an equality and nothing else`() throws {
    let found = try answer(query.filtered(filter("a", .equal, 3)), index("a"), index("b"))
    #expect(try found.access == .indexes([[index("a")]]))
    #expect(found.rowsRead == 10 && found.documentsRead == 10 && !found.isSorted)
    #expect(found.documentsDecoded == 10)
  }

  @Test func `The longest prefix of equalities wins, then the order, then a range`() throws {
    let both = try query.filtered(filter("a", .equal, 3)).filtered(filter("b", .equal, 4))
    #expect(try answer(both, index("a"), index("b", "a")).access == .indexes([[index("b", "a")]]))
    let ordered = try query.filtered(filter("a", .equal, 3)).ordered(by: Samples.field("b"))
    #expect(
      try answer(ordered, index("a"), index("a", "b")).access == .indexes([[index("a", "b")]]))
    let ranged = try query.filtered(filter("a", .equal, 3)).filtered(filter("b", .greaterThan, 7))
      .ordered(by: Samples.field("b"), .descending)
    let found = try answer(ranged, index("a"), index("a", "b"))
    #expect(try found.access == .indexes([[index("a", "b")]]))
    #expect(found.rowsRead == 2 && !found.isSorted)
  }

  @Test func `A field that contains serves wherever the index names it`() throws {
    let tagged = try query.filtered(filter("list", .arrayContains, 2))
    let ordered = try tagged.ordered(by: Samples.field("a")).ordered(by: Samples.field("b"))
    for fields in [["*list", "a", "b"], ["a", "*list", "b"], ["a", "b", "*list"]] {
      let index = try index(fields)
      let found = try answer(ordered.limited(to: 4), index)
      #expect(found.access == .indexes([[index]]))
      #expect(found.rowsRead <= 5 && found.documentsRead == 4 && !found.isSorted)
      let ranged = try answer(ordered.filtered(filter("a", .lessThan, 2)), index)
      #expect(ranged.access == .indexes([[index]]) && ranged.rowsRead <= 20)
    }
  }

  @Test func `An index of a store keeps the order of its fields, since its rows have it`() throws {
    let old = try DocumentIndex(
      stored: "c",
      [
        DocumentIndex.Field(Samples.field("a")),
        DocumentIndex.Field(Samples.field("list"), .contains),
      ],
      scope: .collection)
    var writer = ByteWriter()
    DocumentIndexCodec.append(old, to: &writer)
    var reader = ByteReader(writer.bytes)
    let read = try #require(DocumentIndexCodec.index(&reader))
    #expect(try read == old && read != index("a", "*list"))
    let both = try query.filtered(filter("a", .equal, 3)).filtered(
      filter("list", .arrayContains, 2))
    #expect(try answer(both, old).access == .indexes([[old]]))
  }

  @Test func `A limit ends the walk of rows that have the order`() throws {
    let ordered = try query.filtered(filter("a", .equal, 3)).ordered(
      by: Samples.field("b"), .descending
    )
    .limited(to: 2)
    let found = try answer(ordered, index("a", "b"))
    #expect(found.rowsRead <= 3 && found.documentsRead == 2 && !found.isSorted)
    let sorted = try answer(ordered, index("a"))
    #expect(sorted.rowsRead == 10 && sorted.isSorted)
  }

  @Test func `A small limit over many documents that are sorted gives the first ones`() throws {
    let many = stored(2000)
    let sorted = try query.ordered(by: Samples.field("b"), .descending).limited(to: 3)
    #expect(try many.answer(sorted.target, []).documents == sorted.target.evaluate(many.all))
    let listed = try query.filtered(filter("a", .in, [1, 2, 3, 4, 5]))
      .ordered(by: Samples.field("b"), .descending).limited(to: 3)
    let found = try many.answer(listed.target, [index("a")])
    #expect(found.documents == listed.target.evaluate(many.all) && found.isSorted)
  }

  @Test func `Cursors leave out rows`() throws {
    let ordered = try query.ordered(by: Samples.field("a")).ordered(
      by: Samples.field("b"), .descending
    )
    .starting(after: [3, 2]).ending(at: [4])
    let found = try answer(ordered, index("a", "-b"))
    #expect(found.rowsRead == 12 && !found.isSorted)
    let mirrored = try answer(ordered, index("-a", "b"))
    #expect(mirrored.rowsRead == 12 && !mirrored.isSorted)
  }

  @Test func `Alternatives are a union of rows in one order`() throws {
    let some = try query.filtered(filter("a", .in, [1, 5])).ordered(by: Samples.field("b")).limited(
      to: 4)
    let found = try answer(some, index("a", "b"))
    #expect(found.documentsRead <= 8 && !found.isSorted)
    let either = try query.filtered(.or([filter("a", .equal, 1), filter("b", .equal, 2)]))
    #expect(
      try answer(either, index("a"), index("b")).access == .indexes([[index("a")], [index("b")]]))
    #expect(try answer(either, index("a")).access == .whole)
  }

  @Test func `Values that are left out split the range`() throws {
    let most = try query.filtered(filter("a", .notIn, [2, 3, 4, 5, 6, 7, 8]))
    #expect(try answer(most, index("a")).rowsRead == 30)
    #expect(try answer(query.filtered(filter("a", .notEqual, 3)), index("-a")).rowsRead == 90)
  }

  @Test func `Two single indexes are joined by name`() throws {
    let both = try query.filtered(filter("a", .equal, 3)).filtered(filter("b", .equal, 4))
    let found = try answer(both, index("a"), index("-b"))
    #expect(try found.access == .indexes([[index("a"), index("-b")]]))
    #expect(found.documentsRead == 1 && !found.isSorted)
    let list = try query.filtered(filter("list", .arrayContains, 2)).filtered(
      filter("a", .equal, 3))
    #expect(try answer(list, index("*list"), index("a")).documentsRead == 3)
  }

  @Test func `An index that lacks documents of the query is not used`() throws {
    let query = try query.filtered(filter("a", .equal, 3))
    let found = try answer(query, index("a", "b"), index("a", scope: .group), index("*list", "a"))
    #expect(found.access == .whole)
    #expect(try found.hint == index("a"))
  }

  @Test func `Documents that are named are read by name`() throws {
    let named = try query.filtered(.field(.documentID, .in, ["d7", "d8", "d700"]))
    let found = try answer(named)
    #expect(found.access == .names && found.documentsRead == 2 && found.hint == nil)
    #expect(found.documentsDecoded == 2)
  }

  @Test func `The hint is the index that serves the query`() throws {
    let query = try query.filtered(filter("b", .equal, 3)).filtered(
      filter("list", .arrayContains, 1)
    )
    .filtered(filter("m.x", .greaterThan, 1)).ordered(by: Samples.field("m.x"), .descending)
    let hint = try #require(try answer(query).hint)
    #expect(try hint == index("b", "*list", "-m.x"))
    #expect(try answer(query, hint).access == .indexes([[hint]]))
    #expect(try answer(self.query).hint == nil)
  }
}
