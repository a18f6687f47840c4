import ConiferDocument
import ConiferKeyValue
import Testing

@testable import ConiferStorage

@Suite struct DocumentIndexTests {
  private func field(
    _ path: String, _ kind: DocumentIndex.Field.Kind = .ascending
  ) throws -> DocumentIndex.Field {
    DocumentIndex.Field(try FieldPath(canonical: path), kind)
  }

  @Test func `An index tells its collections, fields and directions in words`() throws {
    let index = try DocumentIndex(
      "rooms", [field("size"), field("a.`b c`", .descending), field("tags", .contains)])
    #expect(
      "\(index)"
        == "rooms on tags contains, size ascending, a.`b c` descending, __name__ ascending")
    let group = try DocumentIndex(
      "rooms", [field("size"), field("__name__", .descending)], scope: .group)
    #expect("\(group)" == "all collections rooms on size ascending, __name__ descending")
  }

  @Test func `Names have the direction of the last field unless another one is told`() throws {
    func direction(_ fields: DocumentIndex.Field...) throws -> Direction {
      try DocumentIndex("c", fields).nameDirection
    }
    #expect(try direction(field("a")) == .ascending)
    #expect(try direction(field("a"), field("b", .descending)) == .descending)
    #expect(try direction(field("a", .descending), field("b", .contains)) == .ascending)
    #expect(try direction(field("a"), field("__name__", .descending)) == .descending)
    #expect(
      try DocumentIndex("c", [field("a"), field("__name__")]) == DocumentIndex("c", [field("a")]))
    #expect(
      try DocumentIndex("c", [field("a"), field("__name__", .descending)])
        != DocumentIndex("c", [field("a")]))
  }

  @Test func `Ids are told apart by their bytes`() throws {
    let (composed, decomposed) = try (
      DocumentIndex("\u{e9}", [field("a")]), DocumentIndex("e\u{301}", [field("a")])
    )
    #expect(composed != decomposed)
  }

  @Test func `What no index can be is refused with its remedy`() throws {
    func refusal(_ id: String, _ fields: [DocumentIndex.Field]) -> String? {
      do throws(StoreError) {
        _ = try DocumentIndex(id, fields)
        return nil
      } catch {
        return error.code == .invalid ? error.message : "\(error.code)"
      }
    }
    let a = try field("a")
    #expect(refusal("", [a])?.contains("no collection's id") == true)
    #expect(refusal("rooms/r1/messages", [a])?.contains("without slashes") == true)
    #expect(refusal("c", [])?.contains("no fields") == true)
    #expect(try refusal("c", [field("__name__")])?.contains("no field but __name__") == true)
    #expect(try refusal("c", [field("__name__"), a])?.contains("before its end") == true)
    #expect(try refusal("c", [a, field("__name__", .contains)])?.contains("as contains") == true)
    #expect(try refusal("c", [a, field("a", .contains)])?.contains("field a twice") == true)
    #expect(
      try refusal("c", [field("x", .contains), field("y", .contains)])?
        .contains("several fields that contain") == true)
    let many = try (0...100).map { number in try field("f\(number)") }
    for name in [[], [try field("__name__")]] {
      let message = refusal("c", many + name)
      #expect(message?.contains("has 101 fields, and 100 are allowed") == true, "\(message ?? "")")
    }
  }

  /// The bytes always say the direction of names, which is no field of its own.
  @Test(arguments: [nil, DocumentIndex.Field.Kind.ascending, .descending])
  func `An index of 100 fields is read back from its bytes`(
    names: DocumentIndex.Field.Kind?
  ) throws {
    let fields = try (0..<100).map { number in try field("f\(number)") }
    let index = try DocumentIndex(
      "c", fields + (names.map { [DocumentIndex.Field(.documentID, $0)] } ?? []))
    #expect(index.fields.count == 100)
    var writer = ByteWriter()
    DocumentIndexCodec.append(index, to: &writer)
    var reader = ByteReader(writer.bytes)
    #expect(DocumentIndexCodec.index(&reader) == index && reader.isAtEnd)
  }
}
