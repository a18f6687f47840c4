internal import ConiferStorage
internal import ConiferTree

/// Random trees whose paths meet often: a few keys, and now and then something odd or large.
extension SeededRandom {
  /// Whether something of a probability happens.
  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

  /// One of a few keys; some look like numbers, some begin alike, some are hard to order.
  mutating func key() -> Key {
    let common: [Key] = ["a", "b", "ab", "1", "01", "10", "2", "c"]
    let odd: [Key] = ["\u{0}", "-0", "\u{E9}", "e\u{301}", "\u{FFFF}", "\u{1F600}", "a\u{0}", "~"]
    return chance(85) ? pick(common) : pick(odd)
  }

  /// A path of at most so many keys.
  mutating func path(_ deepest: Int) -> Path {
    Path((0..<Int.random(in: 0...deepest, using: &self)).map { _ in key() })
  }

  /// A leaf without a priority.
  mutating func leaf() -> Node {
    switch Int.random(in: 0..<12, using: &self) {
    case 0...3: Node(.integer(Int64.random(in: -5...5, using: &self)))
    case 4: Node(.integer(Int64(bitPattern: next())))
    case 5: Node(.double(Double.random(in: -1...1, using: &self)))
    case 6: Node(.bool(next() & 1 == 0))
    case 7: Node(.serverValue(chance(50) ? .timestamp : .increment(.integer(1))))
    default: Node(.string(.text(Int.random(in: 0...40, using: &self))))
    }
  }

  /// A priority, or rarely none.
  mutating func priority() -> Priority? {
    chance(50) ? Priority(Int64.random(in: 0...9, using: &self)) : Priority(pick(["", "p", "q"]))
  }

  /// A node of at most so many levels and so many children a level.
  mutating func node(depth: Int, width: Int) -> Node {
    if depth == 0 || chance(15) { return chance(15) ? leaf().settingPriority(priority()) : leaf() }
    var children: [(Key, Node)] = []
    for index in 0..<Int.random(in: 1...max(1, width), using: &self) {
      let name = chance(60) ? key() : Key("k\(index)")
      children.append((name, node(depth: depth - 1, width: width)))
    }
    return Node(children: children, priority: chance(12) ? priority() : nil)
  }

  /// A node as programs write them: mostly small, sometimes wider than a run, sometimes huge.
  mutating func anyNode() -> Node {
    switch Int.random(in: 0..<100, using: &self) {
    case 0..<20: return .empty
    case 20..<55: return leaf()
    case 55..<90: return node(depth: 3, width: 4)
    case 90..<96:
      let length = Int.random(in: 0...60, using: &self)
      return Node(
        children: (0..<Int.random(in: 50...400, using: &self)).map {
          (Key($0), $0 % 9 == 0 ? node(depth: 1, width: 3) : .text(length + $0 % 5))
        })
    case 96..<98: return noise(Int.random(in: 3000...20_000, using: &self))
    default: return .text(pick([65_537, 70_000, 262_144, 300_000]))
    }
  }
}
