package import ConiferTree

/// Chat rooms that a seed makes, the same on every machine: messages of four leaves each.
package struct Rooms: Sendable {
  /// Messages of a room.
  package static let messages = 100
  /// Leaves of a room.
  package static let leaves = 4 * messages

  /// How many rooms there are.
  package let count: Int
  private let vocabulary: Vocabulary
  private let seed: UInt64

  package init(count: Int, seed: UInt64) {
    self.count = count
    self.seed = seed
    vocabulary = Vocabulary(seed: seed)
  }

  /// A room's path.
  package static func path(_ room: Int) -> String { "rooms/r\(room)" }

  /// The messages of a room, by push id.
  package func node(_ room: Int) -> Node { messages(Self.messages, room) }

  /// A node with many messages whose times are not in the order of their keys.
  package func wide(_ count: Int) -> Node {
    let node = messages(count, 1 << 20)
    var children: [(Key, Node)] = []
    for (number, child) in node.children.enumerated() {
      // A step that shares no factor with the count visits each time once.
      let time = 1_704_103_200_000 + Int64(number * 7919 % count) * 1000
      children.append((child.key, child.node.setting(Key("ts"), to: Node(.integer(time)))))
    }
    return Node(children: children)
  }

  private func messages(_ count: Int, _ room: Int) -> Node {
    var random = Random(seed: seed &+ UInt64(room + 1) &* 0x1_0000_0001)
    var ids = PushIDGenerator()
    var time: Int64 = 1_704_103_200_000 + Int64(room) * 7_200_000
    var children: [(Key, Node)] = []
    for _ in 0..<count {
      time += Int64(1_000 + random.below(90_000))
      children.append((ids.next(at: time, using: &random), message(time, room, &random)))
    }
    return Node(children: children)
  }

  /// A message that was edited: another text at its own place.
  package func edited(_ number: Int) -> Node {
    var random = Random(seed: seed ^ 0xED17 &+ UInt64(number) &* 0x1_0000_0003)
    return message(1_704_103_200_000 + Int64(number), number, &random)
  }

  private func message(_ time: Int64, _ room: Int, _ random: inout Random) -> Node {
    [
      "by": Node(.string("user-\(random.below(40) + room % 60)")),
      "read": Node(.bool(random.below(3) > 0)),
      "text": Node(.string(vocabulary.text(&random))), "ts": Node(.integer(time)),
    ]
  }

  /// The path of one leaf of a room that is at hand.
  static func leafPath(_ room: Int, _ node: Node, _ random: inout Random) -> String {
    let children = node.children
    let message = children[children.index(children.startIndex, offsetBy: random.below(messages))]
    let field = ["by", "read", "text", "ts"][random.below(4)]
    return "\(path(room))/\(message.key.string)/\(field)"
  }
}
