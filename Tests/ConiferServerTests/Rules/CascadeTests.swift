import ConiferTree
import Testing

@testable import ConiferServer

@Suite struct CascadeTests {
  @Test func `Without a rule that grants it nothing is allowed`() throws {
    let none = try rules("{}")
    #expect(
      !none.reads("a") && !none.writes("a", 1) && !none.reads(.root) && !none.writes(.root, 1))
    let rooms = try rules(
      """
      {".read": false, ".write": false,
       "rooms": {"$id": {".read": "auth != null",
         ".write": "auth != null && newData.child('n').val() < 10",
         "n": {".validate": "newData.isNumber()"}}},
       "reports": {"$id": {".read": true}}}
      """)
    #expect(!rooms.writes("rooms/r1/n", 50, as: "ada"))
    #expect(rooms.writes("rooms/r1/n", 5, as: "ada"))
    #expect(!rooms.writes("reports/x", 1, as: "ada"))
    #expect(!rooms.reads("rooms", as: "ada"))
    #expect(!rooms.writes("rooms", ["r1": ["n": 1]], as: "ada"))
    #expect(rooms.reads("rooms/r1", as: "ada") && rooms.reads("rooms/r1/n/deep/er", as: "ada"))
    #expect(!rooms.reads("rooms/r1"))
  }

  @Test func `What is granted above is not taken back below`() throws {
    let rules = try rules(
      """
      {"foo": {".read": "data.child('baz').val() === true", ".write": true,
        "bar": {".read": false, ".write": false}}}
      """)
    #expect(rules.reads("foo/bar", of: ["foo": ["baz": true]]))
    #expect(!rules.reads("foo/bar", of: ["foo": ["baz": false]]))
    #expect(rules.writes("foo/bar", 1))
  }

  @Test func `A named child goes before the wildcard`() throws {
    let rules = try rules(
      """
      {".write": true, "$other": {".read": true, ".validate": false}, "named": {".read": false},
       "title": {".validate": true}}
      """)
    #expect(rules.reads("any") && !rules.reads("named"))
    #expect(rules.writes("named", 1) && rules.writes("title", 1) && !rules.writes("else", 1))
    #expect(rules.writes(.root, ["named": 1, "title": 2]))
    #expect(!rules.writes(.root, ["named": 1, "titles": 2]))
  }

  @Test func `Wildcards are what stands at their levels`() throws {
    let rules = try rules(
      "{\"$a\": {\"$b\": {\".write\": false, \"$c\": {\".write\": \"$a != $b && $b != $c\"}}}}")
    #expect(!rules.writes("x/x/y", 1) && !rules.writes("x/y/y", 1) && rules.writes("x/y/x", 1))
    #expect(rules.writes("x/y/x/deeper", 1))
  }

  @Test func `data and newData are those of the rule's place`() throws {
    let rules = try rules(
      """
      {"rooms": {"$id": {".write": "data.child('owner').val() === auth.uid || !data.exists()"}}}
      """)
    let root: Node = ["rooms": ["r1": ["owner": "bob"]]]
    #expect(!rules.writes("rooms/r1/title", "x", as: "mallory", to: root))
    #expect(rules.writes("rooms/r1/title", "x", as: "bob", to: root))
    #expect(rules.writes("rooms/r2/title", "x", as: "mallory", to: root))
  }

  @Test func `Rules that cannot be evaluated neither grant nor hinder those below`() throws {
    let rules = try rules(
      """
      {".read": "data.child('v').val().toUpperCase() == 'OK'", "open": {".read": "auth != null"},
       "w": {".write": "newData.val().toUpperCase() == 'OK'", "open": {".write": true}},
       "v": {".write": true, ".validate": "newData.val().length > 2"}}
      """)
    #expect(!rules.reads("x", as: "ada", of: ["v": 5]))
    #expect(rules.reads("x", as: "ada", of: ["v": "ok"]))
    #expect(rules.reads("open", as: "ada", of: ["v": 5]))
    #expect(!rules.writes("w", 5) && rules.writes("w", "ok") && rules.writes("w/open", 5))
    #expect(!rules.writes("v", 5) && rules.writes("v", "abc"))
    let reason = rules.write("w", 5).reason
    #expect(
      reason
        == "No .write at the path or above it grants it; in .write of /w (line 2, column 18) "
        + "a value is not a string.")
  }

  @Test func `Rules of large data read no more than they ask for`() throws {
    let rules = try rules(
      "{\"$a\": {\".read\": \"root.child('users/' + auth.uid).exists()\", \".write\": true}}",
      limits: RulesLimits(evaluation: 20, request: 20))
    let users = Node(children: (0..<50_000).map { (Key("u\($0)"), true as Node) })
    #expect(rules.reads("x", as: "u77", of: ["users": users]))
    #expect(rules.writes("x", users, as: "u77", to: ["users": users]))
  }
}
