import Testing

@testable import ConiferTree

@Suite struct CompoundHashTests {
  private func hash(_ text: String) -> String {
    var sha = SHA1()
    sha.add(text)
    return sha.finished().base64
  }

  private func expect(
    _ node: Node, rangeLength: Int? = nil, _ ranges: [(Path, String)],
    at location: SourceLocation = #_sourceLocation
  ) {
    let compound = CompoundHash(of: node, rangeLength: rangeLength)
    #expect(compound.paths == ranges.map(\.0), sourceLocation: location)
    #expect(compound.hashes == ranges.map { hash($0.1) } + [""], sourceLocation: location)
  }

  @Test func `Nothing has one empty hash`() { expect(.empty, []) }

  @Test func `The published example has its text`() {
    expect(["foo": "bar"], [("foo", "(\"foo\":(string:\"bar\"))")])
  }

  @Test func `A leaf at the root is a range`() {
    expect("x", [("/", "(string:\"x\")")])
    expect(
      Node(true, priority: "p\"q\\"), [("/", "(priority:string:\"p\\\"q\\\\\":boolean:true)")])
  }

  @Test func `Siblings are joined by commas, keys and strings are quoted`() {
    expect(
      ["a": ["x": 1, "y\"": "q\\"], "b": false],
      [
        (
          "b",
          "(\"a\":(\"x\":(number:3ff0000000000000),\"y\\\"\":(string:\"q\\\\\")),\"b\":(boolean:false))"
        )
      ])
  }

  @Test func `Integers come first and the priority at its place among the keys`() {
    expect(
      ["10": true, "9": true, "-x": true, "z": true, ".priority": "p"],
      [
        (
          "z",
          "(\"9\":(boolean:true),\"10\":(boolean:true),\"-x\":(boolean:true),"
            + "\".priority\":(string:\"p\"),\"z\":(boolean:true))"
        )
      ])
  }

  @Test func `The priority is not lost when no key follows it`() {
    expect(
      ["1": true, ".priority": "p"],
      [(".priority", "(\"1\":(boolean:true),\".priority\":(string:\"p\"))")])
  }

  @Test func `Ranges end after leaves and open the keys above again`() {
    expect(
      ["a": ["b": 1, "c": true], "d": true, "e": ["f": true]], rangeLength: 0,
      [
        ("a/b", "(\"a\":(\"b\":(number:3ff0000000000000)))"),
        ("a/c", "(\"a\":(\"c\":(boolean:true)))"),
        ("d", "(\"d\":(boolean:true))"),
        ("e/f", "(\"e\":(\"f\":(boolean:true)))"),
      ])
  }

  @Test func `No range ends at a priority`() {
    expect(
      ["a": [".priority": 1, "z": true]], rangeLength: 0,
      [("a/z", "(\"a\":(\".priority\":(number:3ff0000000000000),\"z\":(boolean:true)))")])
  }

  @Test func `A range ends only when it is longer than the limit`() {
    let node: Node = ["a": true, "b": true]
    let length = "(\"a\":(boolean:true".utf8.count
    #expect(CompoundHash(of: node, rangeLength: length).paths == ["b"])
    #expect(CompoundHash(of: node, rangeLength: length - 1).paths == ["a", "b"])
  }

  @Test(arguments: [(500, 15, 3), (5_000, 50, 5), (50_000, 150, 10)])
  func `There are as many ranges as the reference expects`(count: Int, ranges: Int, slack: Int) {
    let node = Node(children: (0..<count).map { (Key($0), Node("value")) })
    let compound = CompoundHash(of: node)
    #expect(abs(compound.hashes.count - ranges) <= slack, "\(compound.hashes.count)")
    #expect(compound.hashes.count == compound.paths.count + 1)
    #expect(compound.paths == compound.paths.sorted())
  }
}
