import ConiferDocument
import TestSupport
import Testing

@Suite struct `Paths of collections and documents` {
  @Test func `slashes at the ends are ignored, and the number of segments decides`() throws {
    #expect(try CollectionPath("/rooms/").description == "rooms")
    #expect(try CollectionPath("rooms/eros/messages").id == "messages")
    #expect(try DocumentPath("/rooms/eros").id == "eros")
    #expect(try DocumentPath("rooms/eros").collection == CollectionPath("rooms"))
    #expect(try CollectionPath("rooms/eros/messages").parent == DocumentPath("rooms/eros"))
    #expect(try CollectionPath("rooms").parent == nil)
    #expect(
      try CollectionPath("rooms").document("eros/messages/1").description == "rooms/eros/messages/1"
    )
    #expect(
      try DocumentPath("rooms/eros").collection("messages").description == "rooms/eros/messages")
    // A slash before a combining mark is a slash.
    #expect(try DocumentPath("a/\u{301}b").segments == ["a", "\u{301}b"])
  }

  @Test(arguments: ["", "/", "//", "a//b", "a/", "/a//", "a/b//"])
  func `malformed paths are refused`(text: String) {
    let error = #expect(throws: DocumentError.self) { try DocumentPath(text) }
    #expect(error?.code == .invalidPath)
  }

  @Test func `a document is no collection`() throws {
    #expect(throws: DocumentError.self) { try CollectionPath("a/b") }
    #expect(throws: DocumentError.self) { try DocumentPath("a/b/c") }
    #expect(throws: DocumentError.self) { try CollectionPath("a").document("b/c") }
    #expect(throws: DocumentError.self) { try CollectionPath("a").document("") }
    #expect(throws: DocumentError.self) { try DocumentPath("a/b").collection("c//d/e") }
  }

  @Test func `a collection contains its own documents only`() throws {
    let rooms = try CollectionPath("rooms")
    #expect(rooms.contains(try DocumentPath("rooms/eros")))
    #expect(!rooms.contains(try DocumentPath("rooms/eros/messages/1")))
    #expect(!rooms.contains(try DocumentPath("room/eros")))
  }

  @Test func `numeric ids come first, by their numbers`() throws {
    let ids = [
      "__id-9223372036854775808__", "__id-2__", "__id7__", "__id12__",
      "__id9223372036854775807__", "12", "7", "A", "Aa", "__id", "__id07__",
      "__id9223372036854775808__",
      "__id__", "a",
    ]
    let paths = try ids.map { try CollectionPath("c").document($0) }
    var random = Seeded(1)
    #expect(paths.shuffled(using: &random).sorted().map(\.id) == ids)
  }

  @Test(arguments: Seeded.seeds(3))
  func `the order goes segment by segment`(seed: UInt64) {
    func number(_ segment: String) -> Int64? {
      guard segment.hasPrefix("__id"), segment.hasSuffix("__") else { return nil }
      let digits = segment.dropFirst(4).dropLast(2)
      return Int64(digits).flatMap { String($0) == digits ? $0 : nil }
    }
    func order(_ a: [String], _ b: [String]) -> Int {
      for (x, y) in zip(a, b) {
        switch (number(x), number(y)) {
        case (let p?, let q?) where p != q: return p < q ? -1 : 1
        case (nil, .some): return 1
        case (.some, nil): return -1
        default:
          if x.utf8.lexicographicallyPrecedes(y.utf8) { return -1 }
          if y.utf8.lexicographicallyPrecedes(x.utf8) { return 1 }
        }
      }
      return sign(a.count - b.count)
    }
    var random = Seeded(seed)
    for _ in 0..<5_000 {
      let (a, b) = (RandomValues.path(&random), RandomValues.path(&random))
      #expect(
        sign(DocumentPath.compare(a, b)) == order(a.segments, b.segments),
        "seed \(seed): \(a) against \(b)")
      #expect((a == b) == (DocumentPath.compare(a, b) == 0), "seed \(seed): \(a), \(b)")
    }
  }

  @Test func `names of documents are read and written`() throws {
    let text = "projects/p/databases/(default)/documents/rooms/eros"
    let name = try DocumentName(text)
    #expect(name.description == text)
    #expect(name.path == (try DocumentPath("rooms/eros")))
    for other in [
      "", "rooms/eros", "projects/p/databases/d/documents",
      "projects/p/databases/d/documents/rooms",
      "projects//databases/d/documents/a/b", "project/p/databases/d/documents/a/b",
    ] {
      #expect(throws: DocumentError.self) { try DocumentName(other) }
    }
  }
}
