import TestSupport
import Testing

@testable import ConiferServer

@Suite struct PatternFuzzTests {
  /// A pattern, and what it means, said in another way.
  private indirect enum Meaning {
    case unit(UInt16)
    case any
    case oneOf(Set<UInt16>, negated: Bool)
    case start, end
    case both(Meaning, Meaning)
    case either(Meaning, Meaning)
    case times(Meaning, Int, Int?)

    var text: String {
      switch self {
      case .unit(let unit): String(decoding: [unit], as: UTF16.self)
      case .any: "."
      case .oneOf(let units, let isNegated):
        "[" + (isNegated ? "^" : "") + String(decoding: units.sorted(), as: UTF16.self) + "]"
      case .start: "^"
      case .end: "$"
      case .both(let a, let b): a.text + b.text
      case .either(let a, let b): "(\(a.text)|\(b.text))"
      case .times(let part, 0, nil): "(?:\(part.text))*"
      case .times(let part, 1, nil): "(\(part.text))+?"
      case .times(let part, 0, 1): "(\(part.text))?"
      case .times(let part, let least, let most?): "(\(part.text)){\(least),\(most)}"
      case .times(let part, let least, nil): "(\(part.text)){\(least),}"
      }
    }

    /// Where it can end when it begins at some places of a string.
    func ends(_ starts: Set<Int>, in units: [UInt16]) -> Set<Int> {
      func taking(_ isTaken: (UInt16) -> Bool) -> Set<Int> {
        Set(starts.filter { $0 < units.count && isTaken(units[$0]) }.map { $0 + 1 })
      }
      switch self {
      case .unit(let wanted): return taking { $0 == wanted }
      case .any: return taking { _ in true }
      case .oneOf(let set, let isNegated): return taking { set.contains($0) != isNegated }
      case .start: return starts.intersection([0])
      case .end: return starts.intersection([units.count])
      case .both(let a, let b): return b.ends(a.ends(starts, in: units), in: units)
      case .either(let a, let b): return a.ends(starts, in: units).union(b.ends(starts, in: units))
      case .times(let part, let least, let most):
        var at = starts
        for _ in 0..<least { at = part.ends(at, in: units) }
        var all = at
        for _ in 0..<(most.map { $0 - least } ?? units.count + 1) {
          at = part.ends(at, in: units)
          all.formUnion(at)
        }
        return all
      }
    }
  }

  private func random(_ random: inout Seeded, _ depth: Int) -> Meaning {
    let letters = Array("abc".utf16)
    if depth == 0 || random.one(in: 4) {
      switch random.below(8) {
      case 0: return .any
      case 1: return .start
      case 2: return .end
      case 3:
        return .oneOf([random.pick(letters), random.pick(letters)], negated: random.one(in: 2))
      default: return .unit(random.pick(letters))
      }
    }
    let part = self.random(&random, depth - 1)
    switch random.below(6) {
    case 0, 1: return .both(part, self.random(&random, depth - 1))
    case 2: return .either(part, self.random(&random, depth - 1))
    case 3: return .times(.both(.unit(random.pick(letters)), part), random.below(3), nil)
    case 4: return .times(.both(part, .any), 0, 1)
    default:
      let least = random.below(3)
      return .times(.either(part, .unit(random.pick(letters))), least, least + random.below(3))
    }
  }

  @Test func `Random patterns find what they mean`() throws {
    let seed: UInt64 = 20_261_121
    print("seed \(seed)")
    var random = Seeded(seed)
    var found = 0
    for _ in 0..<600 {
      let meaning = self.random(&random, 4)
      let pattern = try Pattern(Array(meaning.text.utf8))
      for _ in 0..<4 {
        let units = (0..<random.below(8)).map { _ in random.pick(Array("abcd".utf16)) }
        let expected = !meaning.ends(Set(0...units.count), in: units).isEmpty
        var steps = Int.max
        let result = pattern.matches(String(decoding: units, as: UTF16.self), steps: &steps)
        #expect(result == expected, "\(meaning.text) in \(String(decoding: units, as: UTF16.self))")
        if expected { found += 1 }
      }
    }
    // Neither all nor nothing is found, or the test would test little.
    #expect((400...2200).contains(found), "\(found)")
  }

  @Test func `Random text is a pattern or an error, and never slow`() {
    let seed: UInt64 = 77
    print("seed \(seed)")
    var random = Seeded(seed)
    let pieces = Array("ab()[]{}|*+?^$.\\-,0129:=!<dwsWbxué😀\n/").map(String.init)
    var taken = 0
    for _ in 0..<6000 {
      let text = (0..<random.below(14)).map { _ in random.pick(pieces) }.joined()
      guard let pattern = try? Pattern(Array(text.utf8), ignoresCase: random.one(in: 2)) else {
        continue
      }
      taken += 1
      #expect(pattern.program.count <= Pattern.largest + 1)
      var steps = 100_000
      #expect(pattern.matches("ab01 é😀(]", steps: &steps) != nil)
    }
    #expect(taken > 600, "\(taken)")
  }
}
