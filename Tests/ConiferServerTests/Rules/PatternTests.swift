import Testing

@testable import ConiferServer

@Suite struct PatternTests {
  private func matches(_ pattern: String, _ text: String, steps: Int = .max) -> Bool? {
    let ignoresCase = pattern.hasSuffix("/i")
    let body = ignoresCase ? String(pattern.dropLast(2)) : pattern
    do throws(PatternError) {
      var steps = steps
      return try Pattern(Array(body.utf8), ignoresCase: ignoresCase).matches(text, steps: &steps)
    } catch {
      Issue.record("\(pattern): \(error.message) at \(error.offset)")
      return nil
    }
  }

  @Test(
    arguments: [
      ("a", ["a", "ba", "xay"], ["", "b", "A"]), ("^a", ["a", "ab"], ["ba", ""]),
      ("b$", ["b", "ab"], ["ba", "b\n"]), ("^$", [""], ["a"]), ("", ["", "a"], []),
      ("^a*$", ["", "aaa"], ["b", "ab"]), ("^a+$", ["a", "aaa"], ["", "ab"]),
      ("^a?$", ["", "a"], ["aa"]), ("^(ab)*$", ["", "abab"], ["aba"]),
      ("a|bc", ["a", "xbc"], ["b", "c"]),
      ("^(a|bc|)d$", ["ad", "bcd", "d"], ["bd"]), ("^(?:ab)+?$", ["ab", "abab"], ["a"]),
      ("^.{3}$", ["abc", "a\nc", "😀x"], ["ab", "abcd"]), ("^a{2}$", ["aa"], ["a", "aaa"]),
      ("^a{2,}$", ["aa", "aaaa"], ["a"]), ("^a{1,3}$", ["a", "aaa"], ["", "aaaa"]),
      ("^a{0}$", [""], ["a"]),
      ("^{.*}$", ["{}", "{a}"], ["{"]), ("a{,2}", ["a{,2}"], ["aa"]), ("x{a", ["x{a"], ["xa"]),
      ("^[akz]$", ["a", "k", "z"], ["b", "A"]), ("^[0-9A-F]+$", ["0F"], ["0f", ""]),
      ("^[^0-9]$", ["a", "\n"], ["0"]), ("^[-a]$", ["-", "a"], ["b"]),
      ("^[a-]$", ["-", "a"], ["b"]),
      ("^[\\w-z]$", ["_", "-", "z"], ["."]), ("^[----z\\]]$", ["-", "z", "]"], ["y"]),
      ("^[]a]$".replacing("[]a]", with: "[\\]a]"), ["]", "a"], ["["]),
      ("^[a^]$", ["^", "a"], ["b"]),
      ("^\\d\\D\\w\\W\\s\\S$", ["1a_- x"], ["11_- x", "1a_-_x"]),
      ("^\\.\\/\\\\\\*$", ["./\\*"], ["x/\\*"]),
      ("^\\n\\t\\x41\\u00e9$", ["\n\tAé"], ["\n\tAe"]), ("^a$|^b$", ["a", "b"], ["ab"]),
      ("(^a|b)c", ["ac", "xbc"], ["xac"]), ("a$b", [], ["ab", "a"]),
      ("(a*)*b", ["b", "aab"], ["a"]),
      ("^(a|aa)+$", ["aaaa"], ["aab"]), ("^((a?){3}){2}$", ["", "aaaaaa"], ["aaaaaaa"]),
      ("yes/i", ["YES", "yEs"], ["ye"]), ("^[a-c]+$/i", ["AbC"], ["d"]),
      ("^[^a]$/i", ["b"], ["A", "a"]),
      ("^é$/i", ["É"], ["e"]), ("^[α-ω]+$/i", ["ΣΑς"], ["a"]), ("^k$/i", ["K"], ["\u{212A}"]),
      ("^s$/i", ["S"], ["\u{17F}"]), ("^я$/i", ["Я"], ["a"]), ("^\\w$/i", ["a"], ["é"]),
      ("^😀$", ["😀"], ["😁"]),
      (
        "^(19|20)[0-9][0-9][-\\/. ](0[1-9]|1[012])[-\\/. ](0[1-9]|[12][0-9]|3[01])$",
        ["1999-12-31", "2020/01/02"], ["1899-12-31", "1999-13-01", "1999-12-32"]
      ),
      (
        "^[A-Z0-9._%+-]+@[A-Z0-9.-]+\\.[A-Z]{2,4}$/i", ["a.b+c@example.com"],
        ["a@b", "@example.com", "a@b.c"]
      ),
    ] as [(String, [String], [String])])
  func `Known results`(_ pattern: String, _ found: [String], _ missed: [String]) {
    for text in found { #expect(matches(pattern, text) == true, "\(pattern) in \(text)") }
    for text in missed { #expect(matches(pattern, text) == false, "\(pattern) in \(text)") }
  }

  @Test(arguments: [
    ("(a)\\1", "Back references are not supported.", 3), ("a(?=b)", "look-around", 1),
    ("(?!a)", "look-around", 0), ("(?<n>a)", "look-around", 0), ("\\bfoo", "Word boundaries", 0),
    ("a**", "nothing to repeat", 2), ("*a", "nothing to repeat", 0), ("^*", "nothing to repeat", 0),
    ("a|+", "nothing to repeat", 2), ("a{2}{2}", "nothing to repeat", 4),
    ("(a", "The group has no end.", 0), ("a)", "Unmatched ')'", 1),
    ("[a", "The class has no end.", 0), ("[]", "The class is empty.", 0), ("x[b-a]", "reversed", 2),
    ("a{3,2}", "reversed", 1), ("a{1001}", "counts to 1000", 1), ("é\\q", "no such escape", 2),
    ("\\x4", "2 hexadecimal digits", 0), ("a\\", "ends with a backslash", 1),
    ("((a{100}){100}){100}", "too large", 0), ("(((((a{9}){9}){9}){9}){9}){9}", "too large", 0),
    ("(){1000}(){1000}(){1000}", "too large", 0),
  ])
  func `What is no regular expression here`(_ pattern: String, _ words: String, _ offset: Int) {
    do throws(PatternError) {
      _ = try Pattern(Array(pattern.utf8))
      Issue.record("\(pattern) was taken")
    } catch {
      #expect(error.message.contains(words), "\(error.message)")
      #expect(error.offset == offset)
    }
  }

  @Test func `Groups are not nested without end`() {
    let deep = String(repeating: "(", count: 100_000)
    #expect(throws: PatternError.self) { try Pattern(Array(deep.utf8)) }
  }

  @Test(arguments: [
    "(a+)+$", "^(a+)+$", "^(a|a)*$", "(a|aa)+$", "(.*)*x", "(a?){50}a{50}$", "([a-z]+)*\\d",
  ])
  func `No pattern is slow`(_ text: String) throws {
    let pattern = try Pattern(Array(text.utf8))
    var taken: [Int] = []
    for count in [200, 400, 800] {
      let string = String(repeating: "a", count: count) + "!"
      let budget = 1 << 40
      var steps = budget
      #expect(pattern.matches(string, steps: &steps) == false)
      taken.append(budget - steps)
      #expect(budget - steps <= (count + 2) * pattern.program.count)
    }
    // Each unit takes as many steps as any other.
    #expect(taken[2] - taken[1] == 2 * (taken[1] - taken[0]))
  }

  @Test func `A matcher without steps says nothing`() throws {
    let pattern = try Pattern(Array("(a|b)*c".utf8))
    var steps = 100
    #expect(pattern.matches(String(repeating: "ab", count: 1000), steps: &steps) == nil)
  }
}
