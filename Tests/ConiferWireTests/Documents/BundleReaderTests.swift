import ConiferDocument
import Testing

@testable import ConiferWire

@Suite struct `A bundle` {
  private static let database = DatabaseID(project: "p", database: "d")

  private static func elements(_ text: String) throws -> [BundleElement] {
    var reader = BundleReader(Array(text.utf8))
    var elements: [BundleElement] = []
    while let element = try reader.next() { elements.append(element) }
    #expect(reader.position == text.utf8.count)
    return elements
  }

  private static func sized(_ json: String) -> String { "\(json.utf8.count)\(json)" }

  @Test func `is read element by element`() throws {
    let name = "projects/p/databases/d/documents/rooms/é"
    let text = [
      #"{"metadata":{"id":"b","createTime":"1970-01-01T00:00:01Z","version":1,"totalDocuments":2,"totalBytes":"9","new":[{}]}}"#,
      #"{"documentMetadata":{"name":"\#(name)","readTime":"1970-01-01T00:00:02Z","exists":true,"queries":["q"]}}"#,
      #"{"document":{"name":"\#(name)","createTime":"1970-01-01T00:00:01Z","updateTime":"1970-01-01T00:00:01Z","fields":{"n":{"integerValue":"1"}}}}"#,
      #"{"documentMetadata":{"name":"\#(name)","readTime":"1970-01-01T00:00:02Z"}}"#,
    ].map(Self.sized).joined()
    let document = try DocumentName(name)
    let (one, two) = (try Timestamp(seconds: 1), try Timestamp(seconds: 2))
    #expect(
      try Self.elements(text) == [
        .metadata(
          BundleElement.Metadata(id: "b", createTime: one, documents: 2, bytes: 9)),
        .documentMetadata(
          BundleElement.DocumentMetadata(
            name: document, readTime: two, exists: true, queries: ["q"])),
        .document(document, ["n": 1], updateTime: one),
        .documentMetadata(
          BundleElement.DocumentMetadata(
            name: document, readTime: two, exists: false, queries: [])),
      ])
    #expect(try Self.elements("").isEmpty)
  }

  @Test(arguments: [
    "{}", "2", "2{", "99999999999{}", "2[]", "2{}", #"9{"a":"b"}"#, "5{}   ", "-2{}",
    #"14{"metadata":1}"#, #"15{"document":{}}"#, #"26{"metadata":{},"namedQuery"#,
  ])
  func `is refused where it is damaged`(text: String) {
    #expect(throws: StatusError.self) { try Self.elements(text) }
  }

  @Test func `has queries that are written as they are read`() throws {
    let rooms = DocumentQuery(.collection(try CollectionPath("halls/a/rooms")), in: Self.database)
    let (n, odd) = (try FieldPath(dotted: "n"), try FieldPath(["a.b", "`"]))
    let name = DocumentName(try DocumentPath("halls/a/rooms/b"), in: Self.database)
    let document = Document(name.path, .found(["n": 1, "a.b": ["`": nil]]))
    let queries = [
      rooms, DocumentQuery(.group("rooms"), in: Self.database),
      DocumentQuery(.document(name.path), in: Self.database),
      try rooms.filtered(.field(n, .equal, .null)).filtered(.field(odd, .notEqual, .double(.nan))),
      try rooms.filtered(
        .or([
          .field(n, .in, .array([1, 2.5, "x"])),
          .and([.field(odd, .arrayContains, true), .field(n, .lessThan, .bytes([1]))]),
        ])
      ).ordered(by: n, .descending).limited(to: 3),
      try rooms.ordered(by: n).starting(after: [1]).ending(at: [5]).limited(toLast: 7),
      try rooms.filtered(.field(.documentID, .greaterThan, .reference(name))),
    ]
    for query in queries { #expect(try Self.copy(query) == query) }
    // The place of a document is told for all orders, so that these are written out.
    let from = try rooms.ordered(by: n).starting(at: document).ending(before: document)
    #expect(try Self.copy(from).target == from.target)
  }

  private static func copy(_ query: DocumentQuery) throws -> DocumentQuery {
    try DocumentQuery(json: query.json)
  }

  @Test(arguments: [
    #"{"parent":"projects/p/databases/d/documents"}"#,
    #"{"parent":"projects/p","structuredQuery":{"from":[{"collectionId":"a"}]}}"#,
    #"{"parent":"projects/p/databases/d/documents","structuredQuery":{}}"#,
    #"{"parent":"projects/p/databases/d/documents","structuredQuery":{"from":[{"collectionId":"a"}],"limit":0}}"#,
    #"{"parent":"projects/p/databases/d/documents","structuredQuery":{"from":[{"collectionId":"a"}],"where":{"fieldFilter":{"op":"LIKE","field":{"fieldPath":"n"},"value":{"nullValue":null}}}}}"#,
  ])
  func `has no queries that no client could make`(text: String) {
    #expect(throws: StatusError.self) { try DocumentQuery(json: Array(text.utf8)) }
  }
}
