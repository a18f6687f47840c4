/// Words that a seed makes, as uneven as those of a language.
struct Vocabulary: Sendable {
  private let words: [String]

  init(seed: UInt64) { words = Self.words(seed) }

  /// A message of 3 to 62 words, most of them short.
  func text(_ random: inout Random) -> String {
    let count = 3 + random.below(random.below(4) == 0 ? 60 : 18)
    var text = ""
    var last = 0
    for number in 0..<count {
      // Words have their usual company.
      let isUsual = number > 0 && random.below(20) < 11
      last = isUsual ? (last &* 31 &+ random.below(2) &* 7) % words.count : word(&random)
      text += number > 0 ? " " + words[last] : words[last]
    }
    return text
  }

  /// A word's number: each half of those in question is chosen again and again, so that the n-th word
  /// comes about n times as rarely as the first.
  private func word(_ random: inout Random) -> Int {
    var high = words.count
    while high > 6, random.below(12) > 0 { high /= 2 }
    return random.below(high)
  }

  /// Pronounceable words of two to eleven letters, short ones first as in any language.
  private static func words(_ seed: UInt64) -> [String] {
    var random = Random(seed: seed)
    let (starts, middles) = (Array("bcdfghjklmnprstvwz"), Array("aeiouaeioy"))
    let ends = ["", "", "", "n", "r", "s", "t", "l", "nd", "ng", "ck", "st"]
    var seen: Set<String> = []
    var words: [String] = []
    while words.count < 6000 {
      var word = ""
      for _ in 0..<(1 + random.below(1 + min(4, 1 + words.count / 700))) {
        word.append(starts[random.below(starts.count)])
        word.append(middles[random.below(middles.count)])
      }
      word += ends[random.below(ends.count)]
      if seen.insert(word).inserted { words.append(word) }
    }
    return words
  }
}
