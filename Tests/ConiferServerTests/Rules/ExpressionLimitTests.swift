import ConiferTree
import Testing

@testable import ConiferServer

@Suite struct ExpressionLimitTests {
  @Test(arguments: ["(", "!", "-", "true ? true : ", "auth[", "data.child(", "1 + "])
  func `No nesting ends the stack`(_ piece: String) {
    let deep = String(repeating: piece, count: 100_000)
    guard case .refused(let message) = Probe()(deep) else {
      Issue.record("\(piece) was taken")
      return
    }
    #expect(message == "The expression has more than 100 levels.")
  }

  @Test func `Long rows of && and || are no deep ones`() {
    let row = Array(repeating: "true", count: 20_000).joined(separator: " && ")
    #expect(Probe()(row) == .yes)
    #expect(Probe()(row.replacing("&&", with: "||")) == .yes)
    #expect(Probe(steps: 1000)(row) == .exhausted)
    #expect(Probe(steps: 1000)("true || \(row)") == .yes)
  }

  @Test func `Long strings take steps`() {
    let text = String(repeating: "ab", count: 100_000)
    var probe = Probe(before: ["a": ["b": Node(.string(text))]])
    let expressions = [
      "data.val().contains('c')", "data.val().length == 0", "data.val().replace('a', 'bb') == ''",
      "data.val().toUpperCase() == ''", "data.val() + 'c' == ''", "root.child(data.val()).exists()",
      "data.val().matches(/c/)", "data.val() < data.val()",
    ]
    for expression in expressions {
      probe.steps = 1_000_000
      #expect(probe(expression) == .no, "\(expression)")
      probe.steps = 1000
      #expect(probe(expression) == .exhausted, "\(expression)")
    }
  }

  @Test func `Strings do not grow without end`() {
    let text = Node(.string(String(repeating: "a", count: 1 << 20)))
    let probe = Probe(before: ["a": ["b": text]], steps: 1 << 40)
    #expect(probe("data.val().replace('a', data.val()) == ''") == .fails)
    let sum = Array(repeating: "data.val()", count: 17).joined(separator: " + ")
    #expect(probe("\(sum) == ''") == .fails)
  }

  @Test func `Comparing data takes steps for what differs alone`() {
    let children = (0..<10_000).map { (Key($0), Node(.integer(Int64($0)))) }
    let big = Node(children: children)
    var probe = Probe(before: ["a": ["b": big]], after: ["a": ["b": big]], steps: 100)
    #expect(probe("data.val() == newData.val()") == .yes)
    probe.after = ["a": ["b": Node(children: children.reversed())]]
    #expect(probe("data.val() == newData.val()") == .exhausted)
    probe.steps = 1_000_000
    #expect(probe("data.val() == newData.val()") == .yes)
  }
}
