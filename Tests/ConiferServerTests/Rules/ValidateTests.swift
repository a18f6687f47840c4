import ConiferTree
import Testing

@testable import ConiferServer

/// Which `.validate` a write asks. Much of it is not in the Realtime Database's documentation, or said
/// otherwise there; it was recorded by others who asked the service.
@Suite struct ValidateTests {
  private let widgets: SecurityRules

  init() throws {
    widgets = try rules(
      """
      {".write": true, "widget": {
        ".validate": "newData.hasChildren(['color', 'size'])",
        "size": {".validate": "newData.isNumber() && newData.val() >= 0 && newData.val() <= 99"},
        "color": {".validate": "root.child('valid_colors/' + newData.val()).exists()"}}}
      """)
  }

  private let colors: Node = ["valid_colors": ["blue": true]]

  @Test func `All that a write makes must be valid, at every level`() {
    #expect(!widgets.writes("widget", "foo", to: colors))
    #expect(!widgets.writes("widget", ["size": 22], to: colors))
    #expect(!widgets.writes("widget", ["size": "foo", "color": "blue"], to: colors))
    #expect(!widgets.writes("widget", ["size": 21, "color": "red"], to: colors))
    #expect(widgets.writes("widget", ["size": 21, "color": "blue"], to: colors))
    #expect(widgets.writes("widget", ["size": 21, "color": "blue", "more": ["1": 2]], to: colors))
    #expect(!widgets.writes(.root, ["widget": ["size": 21]], to: colors))
  }

  @Test func `Places above are valid with what is there already`() {
    #expect(!widgets.writes("widget/size", 99, to: colors))
    let blue = colors.setting("widget/color" as Path, to: "blue")
    #expect(widgets.writes("widget/size", 99, to: blue))
    let decision = widgets.write("widget/size", 99, to: colors)
    #expect(decision.rule?.pattern == "/widget" && decision.path == "widget")
    #expect(decision.reason == ".validate of /widget (line 2, column 16) does not hold.")
  }

  @Test func `What is deleted is not validated, but what remains above`() throws {
    let rules = try rules(
      """
      {"nodes": {"$id": {".write": true, ".validate": "newData.hasChildren(['a', 'b'])",
         "a": {".validate": "newData.isString()"}}},
       "parent": {".write": true, ".validate": "newData.hasChildren()"}}
      """)
    let root: Node = [
      "nodes": ["n": ["a": "ok", "b": 10]], "parent": ["one": true, "two": ["x": true]],
    ]
    #expect(rules.writes("nodes/n", .empty, to: root))
    #expect(!rules.writes("nodes/n/b", .empty, to: root))
    #expect(!rules.writes("nodes/n", ["a": "ok"], to: root))
    #expect(rules.writes("parent/one", .empty, to: root))
    #expect(rules.writes("parent", .empty, to: root))
    #expect(rules.writes("parent/one", .empty, to: ["parent": ["one": true]]))
  }

  @Test func `Siblings that are not written are not validated, what is written unchanged is`()
    throws
  {
    let rules = try rules(
      """
      {"rooms": {"$room": {".write": true, "title": {".validate": "newData.isString()"},
         "count": {".validate": "newData.val() == data.val() + 1"},
         "tag": {".validate": "newData.isNumber()"}}},
       "docs": {"$doc": {".write": true, "content": {".validate": "newData.isString()"},
         "meta": {".validate": "newData.parent().child('content').exists()"}}}}
      """)
    let root: Node = [
      "rooms": ["r1": ["count": 1, "tag": "bad"]], "docs": ["d1": ["meta": "i", "content": "h"]],
    ]
    #expect(rules.writes("rooms/r1/title", "lobby", to: root))
    #expect(rules.writes("rooms/r1/title", .empty, to: root))
    #expect(!rules.writes("rooms/r1", ["title": "lobby", "count": 1], to: root))
    #expect(!rules.writes("rooms/r1", ["title": "lobby", "tag": "bad"], to: root))
    #expect(!rules.writes("rooms/r1/count", 1, to: root))
    #expect(rules.writes("rooms/r1/count", 2, to: root))
    #expect(!rules.writes("rooms/r1/count", 3, to: root))
    #expect(rules.writes("docs/d1/content", .empty, to: root))
    #expect(!rules.writes("docs/d1", ["meta": "i"], to: root))
  }

  @Test func `A priority is set by the rules of its node`() throws {
    let rules = try rules(
      """
      {"a": {".write": "auth != null", ".validate": "newData.getPriority() != 13",
         "$x": {".validate": "newData.val() == 'never'"}}}
      """)
    let root: Node = ["a": ["x": 1]]
    #expect(rules.writes("a/.priority", 7, as: "ada", to: root))
    #expect(!rules.writes("a/.priority", 13, as: "ada", to: root))
    #expect(!rules.writes("a/.priority", 7, to: root))
    #expect(!rules.writes("a", Node(children: [("x", "never")], priority: 13), as: "ada"))
    #expect(rules.writes("a", Node(children: [("x", "never")], priority: 7), as: "ada"))
    #expect(rules.writes("a/.priority", .empty, as: "ada", to: root))
  }

  @Test func `The rules of one write take so many steps together`() throws {
    let json =
      "{\".write\": true, \"$x\": {\".validate\": \"newData.isNumber() && newData.val() > 0\"}}"
    let data = Node(children: (1...100).map { (Key($0), Node(.integer(Int64($0)))) })
    #expect(try rules(json).writes(.root, data))
    let bounded = try rules(json, limits: RulesLimits(evaluation: 1000, request: 500))
    #expect(bounded.writes("1", 1))
    let decision = bounded.write(.root, data)
    #expect(!decision.isAllowed && decision.isExhausted)
    #expect(decision.reason == ".validate of /$x (line 1, column 48) takes too many steps.")
    let context = AccessContext(auth: nil, root: .empty, now: 0)
    let paths = (1...100).map { Path([Key($0)]) }
    #expect(bounded.decideWrite(Array(paths.prefix(10)), after: data, context).isAllowed)
    #expect(bounded.decideWrite(paths, after: data, context).isExhausted)
  }
}
