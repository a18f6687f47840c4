import ConiferQuery
import ConiferTree
import Testing

@Suite struct `Wire form of queries` {
  static func text(_ spec: QuerySpec) -> String { String(decoding: spec.json, as: UTF8.self) }

  static let cases: [(QuerySpec, String)] = {
    let all = QuerySpec.default
    var cases: [(QuerySpec, String)] = []
    func add(_ text: String, _ spec: () throws -> QuerySpec) {
      do { cases.append((try spec(), text)) } catch { Issue.record(error) }
    }
    add("{}") { all }
    add(#"{"i":".key"}"#) { try all.ordered(by: .key) }
    add(#"{"i":".value","l":3,"vf":"r"}"#) { try all.ordered(by: .value).limited(toLast: 3) }
    add(#"{"i":"a/b","l":3,"vf":"l"}"#) { try all.ordered(byChild: "/a/b").limited(toFirst: 3) }
    add(#"{"sin":true,"sp":5}"#) { try all.starting(at: 5) }
    add(#"{"sin":true,"sn":"k","sp":5.5}"#) { try all.starting(at: 5.5, key: "k") }
    add(#"{"sin":false,"sn":"[MAX_NAME]","sp":"x"}"#) { try all.starting(after: "x") }
    add(#"{"sin":false,"sn":"k","sp":"x"}"#) { try all.starting(after: "x", key: "k") }
    add(#"{"ein":true,"ep":null}"#) { try all.ending(at: nil) }
    add(#"{"ein":false,"en":"[MIN_NAME]","ep":null}"#) { try all.ending(before: nil) }
    add(#"{"ein":false,"en":"k","ep":1,"i":".value"}"#) {
      try all.ordered(by: .value).ending(before: 1, key: "k")
    }
    add(#"{"ein":true,"ep":true,"i":"a","sin":true,"sp":true}"#) {
      try all.ordered(byChild: "a").equal(to: true)
    }
    add(#"{"ein":false,"ep":"z","i":".key","sin":false,"sp":"a"}"#) {
      try all.ordered(by: .key).starting(after: "a").ending(before: "z")
    }
    return cases
  }()

  @Test(arguments: 0..<13)
  func `a query and its wire form are one`(number: Int) throws {
    let (spec, text) = Self.cases[number]
    #expect(Self.text(spec) == text)
    #expect(try QuerySpec(json: Array(text.utf8)) == spec)
    #expect(try QuerySpec(node: spec.node) == spec)
    #expect(spec.identifier == (text == "{}" ? "default" : text))
  }

  @Test func `all cases are tried`() { #expect(Self.cases.count == 13) }

  @Test func `what other clients leave out is understood`() throws {
    let all = QuerySpec.default
    func read(_ text: String) throws -> QuerySpec { try QuerySpec(json: Array(text.utf8)) }
    #expect(try read(#"{"sp":5}"#) == all.starting(at: 5))
    #expect(try read(#"{"sp":null}"#) == all.starting(at: nil))
    #expect(try read(#"{"ep":null,"l":2}"#) == all.ending(at: nil).limited(toLast: 2))
    #expect(try read(#"{"sp":1,"l":2}"#) == all.starting(at: 1).limited(toFirst: 2))
    #expect(try read(#"{"sp":1,"sn":"[MIN_NAME]"}"#) == all.starting(at: 1))
    #expect(try read(#"{"sp":1,"sn":"[MAX_NAME]"}"#) == all.starting(after: 1))
    #expect(try read(#"{"ep":1,"en":"[MAX_NAME]"}"#) == all.ending(at: 1))
    #expect(try read(#"{"i":".priority","x":1}"#) == all)
  }

  @Test(arguments: [
    #"{"l":0}"#, #"{"l":1.5}"#, #"{"l":"1"}"#, #"{"l":1,"vf":"x"}"#, #"{"i":5}"#, #"{"i":""}"#,
    #"{"i":"$key"}"#, #"{"sp":true}"#, #"{"sp":{"a":1}}"#, #"{"sp":1,"sin":1}"#,
    #"{"i":".key","sp":1}"#, #"{"i":".key","sp":"a","sn":"b"}"#, #"{"sp":1,"sn":5}"#, "{", "",
  ])
  func `a wire form that is no query is refused`(text: String) {
    let error = #expect(throws: TreeError.self) { try QuerySpec(json: Array(text.utf8)) }
    #expect(error?.code == .invalidQuery)
  }
}
