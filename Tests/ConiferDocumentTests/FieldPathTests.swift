import ConiferDocument
import TestSupport
import Testing

@Suite struct `Field paths` {
  static let names = [
    "a", "b", "_", "__name__", "a1", "1a", "a.b", "`", "\\", "a`b", "\\`", " ", "é", "e\u{301}",
    "\u{0}",
    "[x]", "*", "a-b", ".", "..", "\u{301}",
  ]

  static func path(_ random: inout Seeded) -> FieldPath {
    let names = (0...random.below(3)).map { _ in random.pick(Self.names) }
    guard let path = try? FieldPath(names) else { preconditionFailure("\(names) is no path") }
    return path
  }

  @Test(arguments: [
    (["a"], "a"), (["a", "b"], "a.b"), (["a.b"], "`a.b`"), (["1"], "`1`"), (["_1"], "_1"),
    (["a`b"], "`a\\`b`"), (["\\"], "`\\\\`"), (["é", "x y"], "`é`.`x y`"),
    (["__name__"], "__name__"),
  ])
  func `the service's form`(names: [String], text: String) throws {
    let path = try FieldPath(names)
    #expect(path.canonical == text)
    #expect(try FieldPath(canonical: text) == path)
  }

  @Test(arguments: Seeded.seeds(3))
  func `the service's form is read back, and tells paths apart`(seed: UInt64) throws {
    var random = Seeded(seed)
    for _ in 0..<3_000 {
      let (a, b) = (Self.path(&random), Self.path(&random))
      #expect(try FieldPath(canonical: a.canonical) == a, "seed \(seed): \(a)")
      #expect(
        a.canonical.utf8.elementsEqual(b.canonical.utf8) == (a == b), "seed \(seed): \(a), \(b)")
      #expect((a < b) == (a != b && !(b < a)), "seed \(seed): \(a), \(b)")
    }
  }

  @Test(arguments: ["", ".", "a.", ".a", "a..b", "`", "`a", "a`", "a\\", "``", "a.``", "`a`."])
  func `malformed text of the service is refused`(text: String) {
    let error = #expect(throws: DocumentError.self) { try FieldPath(canonical: text) }
    #expect(error?.code == .invalidFieldPath)
  }

  @Test(arguments: ["", ".", "a.", ".a", "a..b", "a~b", "a*", "a/b", "[a]", "a]"])
  func `what an app writes with dots may not hold everything`(text: String) {
    let error = #expect(throws: DocumentError.self) { try FieldPath(dotted: text) }
    #expect(error?.code == .invalidFieldPath)
  }

  @Test func `names with dots between them`() throws {
    #expect(try FieldPath(dotted: "a.b-c.é").names == ["a", "b-c", "é"])
    #expect(throws: DocumentError.self) { try FieldPath([]) }
    #expect(throws: DocumentError.self) { try FieldPath(["a", ""]) }
  }

  @Test func `fields of maps are read, set and removed`() throws {
    let map: MapValue = ["a": ["b": 1, "c": ["d": 2]], "x": 3]
    #expect(map[try FieldPath(dotted: "a.c.d")] == 2)
    #expect(map[try FieldPath(dotted: "a.c")] == ["d": 2])
    #expect(map[try FieldPath(dotted: "x.y")] == nil)
    #expect(
      map.setting(try FieldPath(dotted: "x.y.z"), to: 4)
        == ["a": ["b": 1, "c": ["d": 2]], "x": ["y": ["z": 4]]])
    #expect(map.removing(try FieldPath(dotted: "a.c.d")) == ["a": ["b": 1, "c": [:]], "x": 3])
    #expect(map.removing(try FieldPath(dotted: "x.y")) == map)
    #expect(map.removing(try FieldPath(dotted: "q.y")) == map)
  }

  @Test func `a mask covers its fields and what is within them`() throws {
    let mask = FieldMask([
      try FieldPath(dotted: "b"), try FieldPath(dotted: "a.b"), try FieldPath(dotted: "b"),
    ])
    #expect(mask.paths.map(\.canonical) == ["a.b", "b"])
    #expect(mask.covers(try FieldPath(dotted: "a.b.c")))
    #expect(!mask.covers(try FieldPath(dotted: "a")))
    #expect(!mask.covers(try FieldPath(dotted: "a.bc")))
  }
}
