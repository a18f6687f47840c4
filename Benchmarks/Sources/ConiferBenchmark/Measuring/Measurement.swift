/// One figure of one workload of one engine in one round.
public struct Measurement: Codable, Sendable {
  /// The figure's stable name, such as `enqueue.writers`.
  public let id: String
  /// What was done, in words.
  public let title: String
  /// The workload that it belongs to.
  public let workload: Workload
  /// The figure.
  public let value: Double
  /// What it counts.
  public let unit: String
  /// Whether more is better.
  public let isRate: Bool
  /// Microseconds that a call took: half of them at most so long, 99 of 100, and all.
  public var p50: Double?
  /// See `p50`.
  public var p99: Double?
  /// See `p50`.
  public var longest: Double?
  /// How many calls were timed.
  public var calls: Int?
  /// Calls that waited for the medium, during all of it.
  public var flushes: Int?
  /// Bytes that were handed to the system for files.
  public var written: Int?
}

/// The workloads, by the names that reports use.
public enum Workload: String, Sendable, CaseIterable, Codable {
  /// The twelve of them.
  case W1, W2, W3, W4, W5, W6, W7, W8, W9, W10, W11, W12

  /// What is done, in words.
  public var title: String {
    switch self {
    case .W1: "Load of chat rooms, one commit a room"
    case .W2: "Small writes: queued, then acknowledged with an edit of the tree"
    case .W3: "Reading a whole room"
    case .W4: "Reading one leaf"
    case .W5: "The last 50 by a child's value"
    case .W6: "Opening, until the first leaf is read"
    case .W7: "Evicting half, with a tenth pinned"
    case .W8: "Anonymous memory"
    case .W9: "Updating one leaf of a big node"
    case .W10: "Reading after many deletions"
    case .W11: "A stream of server updates"
    case .W12: "Snapshots while commits go on"
    }
  }
}
