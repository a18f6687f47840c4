import ConiferTree
import TestSupport
import Testing

@Suite struct `Nodes as JSON` {
  static func text(_ node: Node, _ form: Node.JSONForm = .plain) -> String {
    String(decoding: node.json(form), as: UTF8.self)
  }

  static func refusal(_ json: String, validating: Bool = false) -> TreeError.Code? {
    var reader = JSONReader(bytes: Array(json.utf8))
    var builder = NodeBuilder(validating: validating)
    do throws(JSONError) {
      while try builder.advance(&reader) {}
      return nil
    } catch {
      #expect(error.code == .invalidTree)
      #expect(error.line == 1 && error.column > 0)
      return (error.cause as? TreeError)?.code
    }
  }

  static let readings: [(String, Node)] = [
    ("null", Node.empty), ("{}", .empty), ("[]", .empty), ("[null,{}]", .empty), ("5", 5),
    ("{\"a\":{\"b\":null},\"c\":1}", ["c": 1]), ("[1,null,\"x\"]", ["0": 1, "2": "x"]),
    ("{\".value\":null,\".priority\":1}", .empty), ("{\".priority\":1}", .empty),
    ("{\"a\":1,\"a\":2}", ["a": 2]), ("{\"a\":1,\"a\":null}", .empty),
    ("{\"a\":{\"x\":1},\"b\":2,\"a\":{\"y\":1}}", ["a": ["y": 1], "b": 2]),
    ("{\".value\":5,\".priority\":\"p\"}", Node(5, priority: "p")),
    ("{\".priority\":2,\"a\":true}", [".priority": 2, "a": true]),
    ("{\"a\":1,\".priority\":null}", ["a": 1]),
    ("{\".sv\":\"timestamp\"}", Node(.serverValue(.timestamp))),
    ("{\".sv\":{\"increment\":-3}}", Node(.serverValue(.increment(-3)))),
    (
      "{\".value\":{\".sv\":\"timestamp\"},\".priority\":{\".sv\":\"timestamp\"}}",
      Node(.serverValue(.timestamp), priority: Priority(.serverValue(.timestamp)))
    ),
    ("{\"a\":{\".priority\":1,\".value\":\"v\"}}", ["a": Node("v", priority: 1)]),
  ]

  @Test(arguments: readings)
  func `JSON reads as the tree's rules say`(json: String, node: Node) throws {
    #expect(try Node(json: json) == node)
    // What the export form writes reads back the same.
    #expect(try Node(json: node.json(.export)) == node)
  }

  @Test(arguments: [
    ("{\".sv\":\"timestamp\",\"a\":1}", TreeError.Code.invalidServerValue),
    ("{\"a\":1,\".sv\":\"timestamp\"}", .invalidServerValue),
    ("{\".sv\":\"timestamp\",\".priority\":1}", .invalidServerValue),
    ("{\".sv\":5}", .invalidServerValue), ("{\".sv\":{\"increment\":\"x\"}}", .invalidServerValue),
    ("{\".sv\":{\"increment\":1,\"b\":2}}", .invalidServerValue),
    ("{\".sv\":[]}", .invalidServerValue), ("{\".sv\":null}", .invalidServerValue),
    ("{\".value\":1,\"a\":1}", .invalidValue), ("{\"a\":null,\".value\":1}", .invalidValue),
    ("{\".value\":{\"a\":1}}", .invalidValue), ("{\".value\":[1]}", .invalidValue),
    ("{\"a\":1,\".priority\":true}", .invalidPriority),
    ("{\"a\":1,\".priority\":[1]}", .invalidPriority),
    ("{\"a\":1,\".priority\":{\"b\":1}}", .invalidPriority),
    ("{\".foo\":1}", .invalidKey), ("{\"\":1}", .invalidKey),
    ("{\"a\":{\".info\":1}}", .invalidKey),
  ])
  func `what is no tree is refused`(json: String, code: TreeError.Code) {
    #expect(Self.refusal(json) == code)
  }

  @Test func `a validating builder keeps to the limits of what an app writes`() {
    #expect(Self.refusal("{\"a/b\":1}") == nil)
    #expect(Self.refusal("{\"a/b\":1}", validating: true) == .invalidKey)
    #expect(Self.refusal("{\"a\":{\"b#\":1}}", validating: true) == .invalidKey)
    func nested(_ depth: Int, _ leaf: String = "1") -> String {
      String(repeating: "{\"a\":", count: depth) + leaf + String(repeating: "}", count: depth)
    }
    #expect(Self.refusal(nested(32), validating: true) == nil)
    #expect(Self.refusal(nested(33), validating: true) == .pathTooDeep)
    #expect(Self.refusal(nested(32, "{\".sv\":{\"increment\":1}}"), validating: true) == nil)
    #expect(Self.refusal(nested(32, "[1]"), validating: true) == .pathTooDeep)
    let long = String(repeating: "k", count: 383)
    #expect(Self.refusal("{\"\(long)\":{\"\(long)\":1}}", validating: true) == nil)
    #expect(Self.refusal("{\"\(long)\":{\"\(long)k\":1}}", validating: true) == .pathTooLong)
  }

  @Test func `an error names the path and the place in the text`() {
    let error = #expect(throws: JSONError.self) {
      try Node(json: "{\"a\": {\"b\": [1,\n {\".x\": 1}]}}")
    }
    #expect(error?.line == 2)
    #expect(error?.column == 3)
    #expect(error?.message.contains("/a/b/1") == true)
  }

  static let arrays: [(Node, String)] = [
    (["0": "a", "1": "b"] as Node, #"["a","b"]"#), (["0": "a", "2": "c"], #"["a",null,"c"]"#),
    (["1": "b"], #"[null,"b"]"#), (["2": "b"], #"{"2":"b"}"#),
    (["0": 1, "3": 1], #"[1,null,null,1]"#), (["0": 1, "4": 1], #"{"0":1,"4":1}"#),
    (["0": 1, "01": 1], #"{"0":1,"01":1}"#), (["-1": 1, "0": 1], #"{"-1":1,"0":1}"#),
    (["0": 1, "a": 1], #"{"0":1,"a":1}"#), (["00": 1], #"{"00":1}"#), (["-0": 1], #"{"-0":1}"#),
    (["0": ["0": 1], "1": ["x": .empty]], #"[[1]]"#), (.empty, "null"),
  ]

  @Test(arguments: arrays)
  func `a map is an array if most of its places are taken`(node: Node, text: String) {
    #expect(Self.text(node) == text)
    #expect(!Self.text(node, .export).contains("["))
  }

  @Test func `the plain form hides priorities, the export form shows them`() {
    let node: Node = [
      ".priority": 3, "a": Node(1.5, priority: "p"), "b": Node(.serverValue(.increment(2))),
    ]
    #expect(Self.text(node) == #"{"a":1.5,"b":{".sv":{"increment":2}}}"#)
    #expect(
      Self.text(node, .export)
        == #"{".priority":3,"a":{".value":1.5,".priority":"p"},"b":{".sv":{"increment":2}}}"#)
  }

  @Test func `draining gives the same tree as building it whole`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = Seeded(seed)
    var drained = 0
    for _ in 0..<400 {
      let text = JSONTrees.text(depth: 4, using: &random)
      let whole = try Node(json: text)
      let root: Path = Bool.random(using: &random) ? .root : "x/y"
      // Whatever stood there before must vanish, and what stands beside must stay.
      var tree: Node = ["x": ["y": ["a": ["zz": 1], "old": 1], "z": 2]]
      if root.isRoot { tree = ["a": ["zz": 1], "old": 1] }
      let before = tree
      var builder = NodeBuilder(at: root)
      var reader = JSONReader(bytes: Array(text.utf8))
      func apply() {
        for piece in builder.drain() {
          tree = tree.setting(piece.path, to: piece.node)
          drained += 1
        }
        #expect(builder.pendingBytes == 0, "seed \(seed)")
      }
      while try builder.advance(&reader) {
        #expect(builder.pendingBytes >= 0)
        if Int.random(in: 0..<4, using: &random) == 0 { apply() }
      }
      #expect(builder.isComplete)
      apply()
      #expect(builder.drain().isEmpty)
      #expect(tree == before.setting(root, to: whole), "\(text), seed \(seed)")
    }
    #expect(drained > 1000)
  }

  @Test func `draining keeps the order of the text and clears open containers once`() throws {
    var builder = NodeBuilder()
    let events = try JSONSamples.events(#"{"a":{"x":1,"y":2,".priority":5},"b":3}"#)
    var pieces: [String] = []
    for event in events {
      try builder.append(event)
      pieces += builder.drain().map { "\($0.path)=" + Self.text($0.node) }
    }
    #expect(
      pieces == ["/=null", "/a=null", "/a/x=1", "/a/y=2", "/a/.priority=5", "/b=3"])
  }

  @Test(.enabled(if: JSONSamples.folder != nil, "the shared data is not beside the package"))
  func `real files come back from both forms`() throws {
    for name in [
      "citm_catalog.json", "dinosaurs.json", "friendlychat_initial_messages.json",
      "hackernews_samples.json",
    ] {
      let bytes = try #require(JSONSamples.read(name))
      let node = try Node(json: bytes)
      #expect(try Node(json: node.json(.export)) == node, "\(name)")
      #expect(try Node(json: node.json(.plain, pretty: true)) == node, "\(name)")
      #expect(node.leafCount > 5)
    }
  }
}

/// Random trees as JSON, with all the ways to write one.
enum JSONTrees {
  static let keys = ["a", "b", "c", "0", "1", "7", "é", "10"]

  static func text(depth: Int, using random: inout Seeded) -> String {
    let leaf = ["1", "\"s\"", "true", "2.5", "null", "{\".sv\":\"timestamp\"}"]
    let priority = ["1", "\"p\"", "null", "{\".sv\":\"timestamp\"}"]
    func pick(_ from: [String]) -> String { from[Int.random(in: 0..<from.count, using: &random)] }
    switch Int.random(in: 0...(depth > 0 ? 7 : 1), using: &random) {
    case 0: return pick(leaf)
    case 1: return "{\".value\":\(pick(leaf)),\".priority\":\(pick(priority))}"
    case 2:
      return "["
        + (0..<Int.random(in: 0...4, using: &random)).map { _ in
          text(depth: depth - 1, using: &random)
        }.joined(separator: ",") + "]"
    default:
      var members = (0..<Int.random(in: 0...5, using: &random)).map { _ in
        "\"\(pick(keys))\":\(text(depth: depth - 1, using: &random))"
      }
      if Bool.random(using: &random) {
        let place = Int.random(in: 0...members.count, using: &random)
        members.insert("\".priority\":\(pick(priority))", at: place)
      }
      return "{" + members.joined(separator: ",") + "}"
    }
  }
}
