/// What is measured, by the names that reports use.
public enum Workload: String, Sendable, CaseIterable, Codable {
  /// W1: rooms are loaded, one commit a room.
  case load = "W1 load"
  /// W2: small writes are queued, one after the other.
  case enqueue = "W2 enqueue"
  /// W2: queued writes are acknowledged, each with an edit of a leaf.
  case acknowledge = "W2 acknowledge"
  /// W2: sixteen writers queue at once.
  case writers = "W2 16 writers"
  /// W3: a whole room is read.
  case room = "W3 room"
  /// W4: one leaf is read.
  case leaf = "W4 leaf"

  /// What a second's worth of it counts.
  public var unit: String {
    switch self {
    case .load: "leaves/s"
    case .enqueue, .acknowledge, .writers: "commits/s"
    case .room: "rooms/s"
    case .leaf: "leaves/s"
    }
  }
}
