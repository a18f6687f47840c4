import ConiferQuery
import ConiferTree
import TestSupport
import Testing

@testable import ConiferServer

@Suite struct RulesFuzzTests {
  private static let file = """
    { /* c */ "rules": { ".read": "auth != null && auth.token['x'] === 'é' || now > 1.5e3", // d
      "$a": {".write": "newData.child('b/c').val().replace('a', $a).matches(/^(a|[b-d]{1,2})+$/i)",
        ".validate": "newData.hasChildren(['b', $a]) ? data.parent().exists() : !root.isString()",
        ".indexOn": ["x", ".value"], "b": {".validate": "newData.val().length % 2 == -1 * 3 + 'x'.length"},
        "$b": {".read": "query.limitToFirst <= 3 && query.equalTo == auth.uid && $a + $b != 'ab'"}},
      "n": {".write": true, ".validate": "newData.getPriority() == null && data.val() != newData.val()",},
    } }
    """

  private static let pieces = [
    "auth", "data", "newData", "root", "query", "now", ".", "(", ")", "[", "]", "'", "\"", "\\",
    "/", "!",
    "-", "+", "==", "&&", "||", "?", ":", ",", "val()", "child('a')", "null", "true", "1", "$a",
    "{", "}", "\n",
    "//", "/*", "*/", "matches(/a/)", "\\u00e9", "é", "\0", ".read",
  ]

  @Test
  func `Whatever the text, it is taken or refused at a place, and what is taken can be asked`() {
    let seed: UInt64 = 4711
    print("seed \(seed)")
    var random = Seeded(seed)
    let root: Node = [
      "x": ["b": ["c": "aab"], "q": 1], "n": ["n": true], "ab": ["b": "é"], "s": "text",
    ]
    var taken = 0
    for _ in 0..<1500 {
      var bytes = Array(Self.file.utf8)
      for _ in 0...random.below(2) {
        let at = random.below(bytes.count)
        switch random.below(4) {
        case 0: bytes.removeSubrange(at..<min(bytes.count, at + 1 + random.below(6)))
        case 1: bytes[at] = UInt8(random.below(256))
        default: bytes.insert(contentsOf: random.pick(Self.pieces).utf8, at: at)
        }
      }
      do throws(RulesError) {
        let rules = try SecurityRules(
          json: bytes, limits: RulesLimits(evaluation: 5000, request: 50_000))
        taken += 1
        ask(rules, root, &random)
        #expect(throws: Never.self) { try SecurityRules(json: rules.strictSource) }
      } catch {
        #expect(error.line >= 1 && error.column >= 1 && !error.message.isEmpty)
        #expect(error.line <= bytes.count(where: { $0 == 0x0A }) + 1)
      }
    }
    #expect(taken > 50, "\(taken)")
  }

  @Test func `Random expressions are taken or refused, and evaluated or not`() {
    let seed: UInt64 = 12
    print("seed \(seed)")
    var random = Seeded(seed)
    var taken = 0
    let probe = Probe(
      token: VerifiedToken(uid: "ada", claims: ["x": ["1": "a"]]), before: ["a": ["b": ["c": 1]]],
      steps: 1000)
    for _ in 0..<6000 {
      let text = expression(&random, 4)
      if case .refused = probe(text) { continue }
      taken += 1
    }
    #expect(taken > 100, "\(taken)")
    for _ in 0..<6000 {
      _ = probe((0..<random.below(12)).map { _ in random.pick(Self.pieces) }.joined(separator: " "))
    }
  }

  private func expression(_ random: inout Seeded, _ depth: Int) -> String {
    if depth == 0 || random.one(in: 5) {
      return random.pick([
        "true", "null", "'a'", "1.5", "auth", "auth.token.x", "data", "newData.val()", "$first",
        "now",
        "data.child('c').val()", "root", "''", "query.equalTo",
      ])
    }
    let (a, b) = (expression(&random, depth - 1), expression(&random, depth - 1))
    return switch random.below(11) {
    case 0: "(\(a)).parent().exists()"
    case 1: "(\(a))[\(b)]"
    case 2: "(\(a)).contains(\(b))"
    case 3: "!(\(a))"
    case 4: "-(\(a))"
    case 5: "(\(a) ? \(b) : \(a))"
    case 6: "(\(a)).replace(\(b), \(a))"
    case 7: "(\(a)).child(\(b)).val()"
    case 8: "(\(a)).hasChildren([\(b)])"
    default:
      "(\(a) \(random.pick(["+", "-", "*", "/", "%", "==", "!=", "<", ">=", "&&", "||"])) \(b))"
    }
  }

  private func ask(_ rules: SecurityRules, _ root: Node, _ random: inout Seeded) {
    let paths: [Path] = [.root, "x", "x/b", "n", "ab/b/c", "s/t", "x/.priority"]
    let nodes: [Node] = [.empty, 1, "aab", ["b": ["c": "ab"]], Node(true, priority: 3)]
    for path in paths {
      _ = rules.reads(path, .first(2), as: random.one(in: 2) ? "ada" : nil, of: root)
      _ = rules.writes(path, random.pick(nodes), as: "ada", to: root)
    }
  }
}
