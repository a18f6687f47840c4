import ConiferQuery
import ConiferTree
import ConiferWire
import Testing

@testable import ConiferServer

@Suite struct RulesLogTests {
  private let id = SessionID(rawValue: 1)

  private func outputs(
    _ rules: SecurityRules, _ request: Request
  ) -> (logs: [String], notes: [String]) {
    var machine = Namespace(root: ["secret": "data"], rules: rules)
    _ = machine.handle(.connect(id, name: "s", host: "h", lastSession: nil), now: 0)
    var (logs, notes): ([String], [String]) = ([], [])
    for output in machine.handle(.message(id, .request(1, request)), now: 0) {
      switch output {
      case .log(let words): logs.append(words)
      case .note(let words): notes.append(words)
      default: break
      }
    }
    return (logs, notes)
  }

  @Test func `A refusal is noted with the rule's place, without data`() throws {
    let rules = try rules(
      "{\"$key\": {\".write\": true, \".validate\": \"newData.val() == 'x'\", \".read\": \"1 > data.val()\"}}"
    )
    let write = outputs(rules, .put("secret", "password", hash: nil))
    #expect(write.logs.isEmpty)
    #expect(
      write.notes == ["A write was refused: .validate of /$key (line 1, column 50) does not hold."])
    let read = outputs(rules, .get(QueryTarget("secret")))
    #expect(
      read.notes == [
        "A read was refused: No .read at the path or above it grants it; in .read of /$key "
          + "(line 1, column 83) the operands of > are neither numbers nor strings."
      ])
  }

  @Test func `A rule that takes too many steps is told to the log`() throws {
    let rules = try rules(
      "{\".read\": \"'\(String(repeating: "a", count: 2000))'.matches(/(a+)+b/)\"}",
      limits: RulesLimits(evaluation: 100))
    let read = outputs(rules, .get(QueryTarget("secret")))
    #expect(
      read.logs == [
        "A read was refused: No .read at the path or above it grants it; .read of / "
          + "(line 1, column 21) takes too many steps."
      ])
    #expect(read.notes.isEmpty)
  }
}
