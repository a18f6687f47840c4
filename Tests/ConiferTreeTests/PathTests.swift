import ConiferTree
import Testing

@Suite struct PathTests {
  private func code(_ body: () throws -> Void) -> TreeError.Code? {
    do {
      try body()
      return nil
    } catch {
      return (error as? TreeError)?.code
    }
  }

  @Test func `Empty segments are ignored`() {
    #expect(Path("//a///b/") == Path(["a", "b"]))
    #expect(Path("").isRoot)
    #expect(Path("/").description == "/")
    #expect(Path("a/b").description == "/a/b")
  }

  @Test func `Paths are ordered key by key and prefixes come first`() {
    let list: [Path] = ["/", "2", "10", "10/a", "a", "a/1", "a/b", "aa", "b"]
    #expect(list.reversed().sorted() == list)
  }

  @Test func `Ancestors contain their descendants`() {
    let path: Path = "a/b/c"
    #expect(Path.root.contains(path) && path.contains(path) && Path("a/b").contains(path))
    #expect(!path.contains("a/b") && !Path("a/bb").contains(path))
    #expect(path.relative(to: "a") == "b/c")
    #expect(path.relative(to: path) == .root)
    #expect(path.relative(to: "b") == nil)
    #expect(path.parent == "a/b" && Path.root.parent == nil)
    #expect(path.dropFirst() == "b/c" && Path.root.dropFirst() == .root)
    #expect(Path("a").appending("b" as Key).appending("c/d" as Path) == "a/b/c/d")
  }

  @Test func `A path has at most 32 keys`() {
    let path = Path(Array(repeating: "k", count: 32))
    #expect(code { try path.validate(writing: 1) } == nil)
    #expect(code { try path.validate(writing: ["x": 1]) } == .pathTooDeep)
    #expect(code { try path.appending("k" as Key).validate(writing: 1) } == .pathTooDeep)
    let data = Node.empty.setting(path, to: 1)
    #expect(code { try Path.root.validate(writing: data) } == nil)
    #expect(code { try Path("a").validate(writing: data) } == .pathTooDeep)
    #expect(code { _ = try Path(validating: path.description + "/x") } == .pathTooDeep)
    #expect(code { try path.appending(.priority).validate(writing: 1) } == nil)
  }

  @Test func `A path has at most 768 bytes with its slashes`() {
    let half = Key(String(repeating: "é", count: 191) + "a")
    #expect(code { try Path([half, half]).validate(writing: 1) } == nil)
    #expect(code { try Path([half]).validate(writing: [half: 1]) } == nil)
    let longer = Key(half.string + "a")
    #expect(code { try Path([half, longer]).validate(writing: 1) } == .pathTooLong)
    #expect(code { try Path([half]).validate(writing: [longer: 1]) } == .pathTooLong)
  }

  @Test func `Data is checked where it lies`() {
    #expect(code { try Path("a").validate(writing: ["b": ["c.d": 1]]) } == .invalidKey)
    #expect(code { try Path("a").validate(writing: ["b": Node(.double(.nan))]) } == .invalidValue)
    #expect(code { try Path("a").validate(writing: Node(.double(.infinity))) } == .invalidValue)
    let bad = Node(.serverValue(.increment("x")))
    #expect(code { try Path("a").validate(writing: bad) } == .invalidServerValue)
    #expect(code { try Path(".info/x").validate(writing: 1) } == .invalidKey)
    #expect(code { _ = try Path(validating: ".info/connected") } == nil)
    #expect(code { _ = try Path(validating: "a/.info") } == .invalidKey)
  }

  @Test func `A string has at most 10 MiB`() {
    let most = String(repeating: "a", count: 10 * 1024 * 1024)
    #expect(code { try Path("a").validate(writing: Node(.string(most))) } == nil)
    #expect(code { try Path("a").validate(writing: Node(.string(most + "a"))) } == .leafTooLarge)
  }

  @Test func `Only a priority may be written to one`() {
    #expect(code { try Path("a/.priority").validate(writing: "p") } == nil)
    #expect(code { try Path("a/.priority").validate(writing: .empty) } == nil)
    #expect(code { try Path("a/.priority").validate(writing: true) } == .invalidPriority)
    #expect(code { try Path("a/.priority").validate(writing: ["x": 1]) } == .invalidPriority)
    #expect(code { try Path("a/.priority/b").validate(writing: 1) } == .invalidKey)
  }

  @Test func `No path of an update lies above another`() {
    #expect(code { try Path.validate(merging: ["a/b", "a/c", "ab"]) } == nil)
    #expect(code { try Path.validate(merging: ["a/b/c", "x", "a/b"]) } == .invalidMerge)
    #expect(code { try Path.validate(merging: ["a", "a"]) } == .invalidMerge)
    #expect(code { try Path.validate(merging: []) } == nil)
  }
}
