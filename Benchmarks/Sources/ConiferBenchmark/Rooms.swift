import ConiferTree

/// Chat rooms that a seed makes, the same on every machine: 100 messages of four leaves each, of
/// words that are as uneven as those of a language.
struct Rooms: Sendable {
  static let messages = 100
  /// Leaves of a room.
  static let leaves = 4 * messages

  let count: Int
  private let words: [String]
  private let seed: UInt64

  /// So many rooms.
  init(count: Int, seed: UInt64) {
    self.count = count
    self.seed = seed
    words = Self.vocabulary(seed)
  }

  func path(_ room: Int) -> Path { Path("rooms/r\(room)") }

  /// The messages of a room, by push id.
  func node(_ room: Int) -> Node {
    var random = Random(seed: seed &+ UInt64(room + 1) &* 0x1_0000_0001)
    var ids = PushIDGenerator()
    var time: Int64 = 1_704_103_200_000 + Int64(room) * 7_200_000
    var children: [(Key, Node)] = []
    for _ in 0..<Self.messages {
      time += Int64(1_000 + random.below(90_000))
      let message: Node = [
        "by": Node(.string("user-\(random.below(40) + room % 60)")),
        "read": Node(.bool(random.below(3) > 0)),
        "text": Node(.string(text(&random))), "ts": Node(.integer(time)),
      ]
      children.append((ids.next(at: time, using: &random), message))
    }
    return Node(children: children)
  }

  /// The key of a message of a room.
  func key(_ message: Int, of room: Node) -> Key {
    room.children[room.children.index(room.children.startIndex, offsetBy: message)].key
  }

  private func text(_ random: inout Random) -> String {
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
  private static func vocabulary(_ seed: UInt64) -> [String] {
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

/// SplitMix64: a stream of numbers that depends on nothing but its seed.
struct Random: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// A number below a bound, without looking at how Swift draws.
  mutating func below(_ bound: Int) -> Int { Int(next() >> 33) % max(1, bound) }
}
