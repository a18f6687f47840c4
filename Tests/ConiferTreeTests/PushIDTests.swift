import ConiferTree
import TestSupport
import Testing

@Suite struct PushIDTests {
  /// A source of one value again and again.
  private struct Constant: RandomNumberGenerator {
    let value: UInt64
    mutating func next() -> UInt64 { value }
  }

  @Test func `Keys sort by time and within a millisecond by order`() {
    var random = Seeded(1)
    var generator = PushIDGenerator()
    var keys: [Key] = []
    for time in [0, 1, 1, 1, 63, 64, 1_700_000_000_000, 1_700_000_000_001] as [Int64] {
      for _ in 0..<200 { keys.append(generator.next(at: time, using: &random)) }
    }
    #expect(zip(keys, keys.dropFirst()).allSatisfy { $0 < $1 })
    #expect(keys.allSatisfy { $0.utf8Count == 20 && $0.integer == nil })
    #expect(throws: Never.self) { try keys.forEach { try $0.validate() } }
  }

  @Test func `The time is eight digits of base 64`() {
    var generator = PushIDGenerator()
    #expect(generator.next(at: 0).string.hasPrefix("--------"))
    #expect(generator.next(at: 64 * 63 + 1).string.hasPrefix("------z0"))
    #expect(generator.next(at: (1 << 48) - 1).string.hasPrefix("zzzzzzzz"))
  }

  @Test func `Counting up carries, at last into the time`() {
    var low = Constant(value: 0)
    var generator = PushIDGenerator()
    #expect(generator.next(at: 0, using: &low) == "--------------------")
    for _ in 0..<62 { _ = generator.next(at: 0, using: &low) }
    #expect(generator.next(at: 0, using: &low) == "-------------------z")
    #expect(generator.next(at: 0, using: &low) == "------------------0-")
    var high = Constant(value: .max)
    let last = generator.next(at: 5, using: &high)
    #expect(last == "-------4zzzzzzzzzzzz")
    #expect(generator.next(at: 5, using: &high) == "-------5------------")
  }

  @Test func `A clock that is set back a little leaves keys in order`() {
    var random = Seeded(3)
    var generator = PushIDGenerator()
    let keys = [90_000, 80_000, 30_000, 89_999, 90_000, 90_001, 90_000].map { time in
      generator.next(at: time, using: &random)
    }
    #expect(keys == keys.sorted())
    #expect(generator.next(at: 30_000, using: &random) < keys[0])
    for time in [.max, .min, .max, 0, .min] as [Int64] {
      _ = generator.next(at: time, using: &random)
    }
    #expect(generator.next(at: 5, using: &random).string.hasPrefix("-------4"))
  }

  @Test func `A new millisecond has a new random part`() {
    var random = Seeded(2)
    var generator = PushIDGenerator()
    let (a, b) = (generator.next(at: 1, using: &random), generator.next(at: 2, using: &random))
    #expect(a.string.suffix(12) != b.string.suffix(12))
  }
}

@Suite struct NeighbourTests {
  @Test func `Integers have integer neighbours`() {
    #expect(Key("1").successor == "2")
    #expect(Key("-1").successor == "0")
    #expect(Key("2147483647").successor == " ")
    #expect(Key("0").predecessor == "-1")
    #expect(Key("-2147483648").predecessor == nil)
    #expect(Key(" ").predecessor == "2147483647")
  }

  @Test func `A text's successor is one character longer`() {
    #expect(Key("a").successor == "a ")
    #expect(Key("a ").predecessor == "a")
    let full = String(repeating: "a", count: 785)
    #expect(Key(full).successor?.string == full + " ")
    #expect(Key(full + "a").successor?.string == full + "b")
    #expect(Key(full + "\u{FFFF}").successor?.string == String(full.dropLast()) + "b")
    #expect(Key(String(repeating: "\u{FFFF}", count: 786)).successor == nil)
  }

  @Test func `Forbidden characters and surrogates are skipped`() {
    let full = String(repeating: "a", count: 785)
    for (a, b) in [("\"", "%"), ("-", "0"), ("Z", "\\"), ("\\", "^"), ("~", "\u{80}")] {
      #expect(Key(full + a).successor?.string.last.map(String.init) == b)
      let lower = Key("x" + b).predecessor
      #expect(lower?.string.unicodeScalars.dropFirst().first == a.unicodeScalars.first)
    }
    #expect(Key(full + "\u{D7FF}").successor?.string == full + "\u{E000}")
    #expect(
      Key("\u{E000}").predecessor?.string == "\u{D7FF}" + String(repeating: "\u{FFFF}", count: 785))
  }

  @Test func `A text's predecessor is padded to 786 units`() {
    let lower = Key("b").predecessor
    #expect(lower?.string == "a" + String(repeating: "\u{FFFF}", count: 785))
    #expect(lower.map { $0 < "b" } == true)
  }
}
