import ConiferTree
import TestSupport
import Testing

@Suite struct KeyTests {
  @Test func `Keys are ordered as the reference list`() {
    let list: [Key] = [
      "-2147483648", "0", "1", "2", "10", "2147483647", "-2147483649", "-2147483650", "-a",
      "2147483648", "21474836480", "2147483649", "a",
    ]
    #expect(list.reversed().sorted() == list)
    for (i, a) in list.enumerated() {
      for (j, b) in list.enumerated() { #expect((a < b) == (i < j)) }
    }
  }

  @Test func `Equal integers are ordered by length, then by text`() {
    let list: [Key] = ["-1", "-01", "0", "-0", "00", "1", "01", "0000000000001", "2"]
    #expect(list.reversed().sorted() == list)
    #expect(Key("0000000000001").integer == 1)
    #expect(Set(list).count == list.count)
  }

  @Test func `Only texts of digits within 32 bits are integers`() {
    for text in ["", "-", "+1", "1.0", " 1", "1e3", "--1", "2147483648", "-2147483649", "١"] {
      #expect(Key(text).integer == nil, "\(text)")
    }
    #expect(Key("-2147483648").integer == .min)
    #expect(Key("2147483647").integer == .max)
    #expect(Key(7) == "7")
    #expect(Key(1 << 40).integer == nil)
  }

  @Test func `Composed and decomposed letters are different keys`() {
    let (composed, decomposed) = (Key("\u{E9}"), Key("e\u{301}"))
    #expect(composed != decomposed)
    #expect(Set([composed, decomposed]).count == 2)
    #expect(decomposed < composed)
    let node: Node = [composed: 1, decomposed: 2]
    #expect(node.childCount == 2)
    #expect(node[composed].leaf == 1)
    #expect(node[decomposed].leaf == 2)
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func `Other keys are ordered by UTF-16 code units`(seed: UInt64) {
    var random = Seeded(seed)
    let alphabet: [Unicode.Scalar] = [
      "a", "b", "é", "\u{7FF}", "\u{D7FF}", "\u{E000}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}",
      "\u{800}",
    ]
    for _ in 0..<500 {
      func text() -> String {
        var text = "k"
        for _ in 0..<Int.random(in: 0..<14, using: &random) {
          text.unicodeScalars.append(alphabet.randomElement(using: &random) ?? "a")
        }
        return text
      }
      let (a, b) = (text(), text())
      #expect(
        (Key(a) < Key(b)) == a.utf16.lexicographicallyPrecedes(b.utf16), "seed \(seed): \(a) \(b)")
    }
  }

  @Test func `An app may not write keys with metadata characters`() {
    for text in ["", ".", "a.b", "a#", "$a", "[", "]", "a/b", "a\u{1F}", "\u{7F}", "\n"] {
      #expect(throws: TreeError.self, "\(text)") { try Key(validating: text) }
    }
    for text in ["a", " ", "-N_x", "é", "😀", "~", "a b"] {
      #expect(throws: Never.self) { try Key(validating: text) }
    }
    #expect(throws: Never.self) { try Key(validating: String(repeating: "é", count: 384)) }
    #expect(throws: TreeError.self) {
      try Key(validating: String(repeating: "é", count: 384) + "a")
    }
  }

  @Test func `Only the pseudo child is the priority`() {
    #expect(Key(".priority").isPriority)
    #expect(!Key(".prioritx").isPriority)
    #expect(!Key("priority.").isPriority)
  }
}
