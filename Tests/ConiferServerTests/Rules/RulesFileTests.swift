import ConiferQuery
import ConiferStorage
import ConiferTree
import Testing

@testable import ConiferServer

@Suite struct RulesFileTests {
  @Test func `Comments, strings over several lines and commas before braces are taken`() throws {
    let file = """
      // Who may do what.
      {
        "rules": {
          /* Everybody
             reads. */
          ".read": "true // of course",
          "notes": {
            "$note": {
              ".write": "
                auth != null   // somebody
                && (
                  data.child(\\"owner\\").val() == auth.uid /* the owner */
                  || !data.exists()
                )
              ",
            },
          },
        },
      }

      """
    let rules = try SecurityRules(json: file)
    #expect(rules.reads("notes/n1"))
    #expect(rules.writes("notes/n1/text", "x", as: "ada"))
    #expect(rules.writes("notes/n1/text", "x", as: "ada", to: ["notes": ["n1": ["owner": "ada"]]]))
    #expect(!rules.writes("notes/n1/text", "x", as: "bob", to: ["notes": ["n1": ["owner": "ada"]]]))
    #expect(rules.source == Array(file.utf8))

    let strict = rules.strictSource
    var reader = JSONReader(bytes: strict)
    while try reader.next() != nil {}
    let same = try SecurityRules(json: strict)
    #expect(same.writes("notes/n1/text", "x", as: "ada"))
    #expect(same.strictSource == strict)
  }

  @Test func `Indexes are those of the file, each once`() throws {
    let rules = try rules(
      """
      {"dinosaurs": {".indexOn": ["height", "order/name", "height", ".key"]},
       "scores": {".indexOn": ".value"}, "$any": {".indexOn": ".priority"}}
      """)
    #expect(
      try rules.indexes == [
        IndexDefinition("dinosaurs", by: .child("height")),
        IndexDefinition("dinosaurs", by: .child("order/name")),
        IndexDefinition("scores", by: .value), IndexDefinition("$any", by: .priority),
      ])
    let nested = try SecurityRules(
      json: #"""
        // Rules as the console shows them.
        {
          "rules": {
            ".read": "auth != null", /* with "rules": inside, and a // too */
            "rooms": {
              "$room": { "messages": { ".indexOn": ["ts", "author/name", "ts",], }, },
              ".indexOn": ".priority"
            },
            ".indexOn": "a"
          }
        }
        """#)
    #expect(
      nested.indexes.map(\.description) == [
        "/rooms/$room/messages on ts", "/rooms/$room/messages on author/name",
        "/rooms on .priority", "/ on a",
      ])
  }

  @Test(arguments: [
    ("", "1:1: Expected '{'."), ("[]", "1:1: Expected '{'."),
    ("{}", "1:1: The file has no \"rules\"."),
    ("{\"rules\": {}} x", "1:15: More text follows the rules."),
    (
      "{\"rules\": {}, \"more\": 1}",
      "1:15: \"more\" does not belong here. A rules file has only \"rules\"."
    ),
    ("{\"rules\": true}", "1:11: Expected '{'."),
    ("{\"rules\": {\"a\": \"true\"}}", "1:17: Expected '{'."),
    ("{\"rules\": {\n  \"a\": null}}", "2:8: Expected '{'."),
    (
      "{\"rules\": {\".read\": 1}}",
      "1:21: Invalid rule expression.  Expected 'true', 'false', or an expression string."
    ),
    (
      "{\"rules\": {\".write\": truely}}",
      "1:22: Invalid rule expression.  Expected 'true', 'false', or an expression string."
    ),
    (
      "{\"rules\": {\".valdiate\": true}}",
      "1:12: There is no rule \".valdiate\": the rules are .read, .write, .validate and .indexOn."
    ),
    (
      "{\"rules\": {\"a\": {\"$x\": {}, \"$y\": {}}}}",
      "1:28: Cannot have multiple default rules ('$x' and '$y')."
    ),
    (
      "{\"rules\": {\"$x\": {\"a\": {\"$x\": {}}}}}",
      "1:25: A place above is also called $x. Give this one another name."
    ),
    (
      "{\"rules\": {\"a#b\": {}}}",
      "1:14: String can't contain \".\", \"#\", \"$\", \"/\", \"[\", or \"]\", or control characters."
    ),
    ("{\"rules\": {\"\": {}}}", "1:12: The name is empty."),
    ("{\"rules\": {\"$\": {}}}", "1:12: The name is empty."),
    ("{\"rules\": {\"a\": {}, \"a\": {}}}", "1:21: \"a\" appears twice here."),
    (
      "{\"rules\": {\".indexOn\": 5}}",
      "1:24: Invalid indexOn expression. Must be either a string or an array of strings."
    ),
    (
      "{\"rules\": {\".indexOn\": [\"a\", 5]}}",
      "1:30: Invalid indexOn expression. Must be either a string or an array of strings."
    ),
    ("{\"rules\": {\".read\": \"foo == 1\"}}", "1:22: Unknown variable 'foo'."),
    (
      "{\"rules\": {\n  \"a\": {\n    \".read\": \"auth != null &&\n      now > 'x'\"}}}",
      "4:13: Invalid > expression: the operands are of different types."
    ),
    ("{\"rules\": {\".read\": \"'\\u00e9' == 'é' && \\\"a\\\" == é\"}}", "1:51: Unexpected 'é'."),
    ("{\"rules\": {\".write\": \"newData.val().matches(/a(b/)\"}}", "1:47: The group has no end."),
    (
      "{\"rules\": {\"a\": {\".read\": \"$b == 'x'\", \"$b\": {}}}}", "1:28: Unknown variable '$b'."
    ),
    ("{\"rules\": {\".read\": \"true", "1:21: The string has no end."),
    ("{\"rules\": /* {}", "1:11: The comment has no end."),
    ("{\"rules\": {\".read\" true}}", "1:20: Expected ':'."),
    ("{\"rules\": {\".read\": true \".write\": true}}", "1:26: Expected '}'."),
    ("{\"rules\": {\".read\": \"\\q\"}}", "1:22: There is no such escape in JSON."),
    ("{\"rules\": {\".read\": \"\\ud800\"}}", "1:22: Half of a surrogate pair."),
    ("{'rules': {}}", "1:2: Expected a string."),
    ("{\"rules\": {\".read\": \"\"}}", "1:22: The expression is empty."),
  ])
  func `Errors name line and column`(_ file: String, _ words: String) {
    do throws(RulesError) {
      _ = try SecurityRules(json: file)
      Issue.record("\(file) was taken")
    } catch {
      #expect(error.description == words)
    }
  }

  @Test func `Files are neither endless nor endlessly deep`() throws {
    let deep = String(repeating: "{\"a\": ", count: 100_000)
    #expect(throws: RulesError.self) { try SecurityRules(json: "{\"rules\": \(deep)") }
    let long = "{\"rules\": {}}" + String(repeating: " ", count: 1 << 20)
    #expect(throws: RulesError.self) { try SecurityRules(json: long) }
    #expect(throws: RulesError.self) { try SecurityRules(json: [0x7B, 0xFF]) }
    #expect(throws: RulesError.self) {
      try SecurityRules(json: Array("{\"rules\": {}}".utf8) + [0xEF, 0xBF])
    }
    _ = try SecurityRules(json: [0xEF, 0xBB, 0xBF] + Array("{\"rules\": {}}".utf8))
  }

  @Test func `Rules know where they stand`() throws {
    let rules = try SecurityRules(
      json: "{\"rules\": {\n  \"rooms\": {\n    \"$room\": {\".write\":\n      \"auth != null\"}}}}"
    )
    let place = rules.write("rooms/r1", 1, as: "ada").rule
    #expect(place == RulePlace(pattern: "/rooms/$room", kind: .write, line: 4, column: 7))
    #expect(place?.description == ".write of /rooms/$room (line 4, column 7)")
  }
}
