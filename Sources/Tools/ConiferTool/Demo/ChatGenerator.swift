import ConiferKeyValue
import ConiferTree

/// A chat that is the same on every machine: rooms of messages with push ids, authors, times and
/// texts of varied length.
struct ChatGenerator {
  static let standardRooms = 125
  static let standardMessages = 400

  var rooms = ChatGenerator.standardRooms
  var messages = ChatGenerator.standardMessages
  var seed: UInt64 = 2024

  /// The number of messages of all rooms together.
  var total: Int { rooms * messages }

  /// The key of a room, for example `garden-007`.
  func key(_ room: Int) -> Key {
    let number = String(room)
    let zeros = String(repeating: "0", count: max(0, 3 - number.count))
    let topic = ChatWords.topics[room % ChatWords.topics.count]
    return Key("\(topic)-\(zeros)\(number)")
  }

  /// The messages of a room, by push id.
  func room(_ room: Int) -> Node {
    var random = SplitMix64(seed: seed &+ UInt64(truncatingIfNeeded: room) &* 0x1_0000_0001)
    var ids = PushIDGenerator()
    // Early 2024, in milliseconds; each room begins some hours later.
    var time: Int64 = 1_704_103_200_000 + Int64(room) * 7_200_000
    var children: [(Key, Node)] = []
    children.reserveCapacity(messages)
    for _ in 0..<messages {
      time += Int64(1 + random.below(random.below(5) == 0 ? 3_600_000 : 40_000))
      let message: Node = [
        "author": Node(.string(random.pick(ChatWords.people, or: "Ada"))),
        "text": Node(.string(text(&random))), "ts": Node(.integer(time)),
      ]
      children.append((ids.next(at: time, using: &random), message))
    }
    return Node(children: children)
  }

  /// One to four sentences, or a short answer.
  private func text(_ random: inout SplitMix64) -> String {
    if random.below(6) == 0 { return random.pick(ChatWords.closers, or: "…") }
    var sentences: [String] = []
    for _ in 0..<(1 + random.below(random.below(8) == 0 ? 4 : 2)) {
      sentences.append(
        [
          random.pick(ChatWords.openers, or: ""), random.pick(ChatWords.subjects, or: ""),
          random.pick(ChatWords.verbs, or: ""), random.pick(ChatWords.closers, or: ""),
        ].joined(separator: " "))
    }
    return sentences.joined(separator: " ")
  }
}
