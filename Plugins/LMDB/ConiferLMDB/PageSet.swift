/// A set of page numbers below a bound.
struct PageSet {
  private var words: [UInt64]
  private let count: Int

  init(count: Int) {
    self.count = count
    words = Array(repeating: 0, count: (count + 63) / 64)
  }

  /// Adds a page; false when it is in already. One beyond the bound is not kept.
  mutating func insert(_ page: Int) -> Bool {
    guard page < count else { return true }
    let bit: UInt64 = 1 << UInt64(page & 63)
    defer { words[page >> 6] |= bit }
    return words[page >> 6] & bit == 0
  }

  /// The pages that are in both sets.
  func common(with other: PageSet) -> [Int] {
    var found: [Int] = []
    for index in 0..<min(words.count, other.words.count) {
      var both = words[index] & other.words[index]
      while both != 0 {
        found.append(index << 6 + both.trailingZeroBitCount)
        both &= both - 1
      }
    }
    return found
  }
}
