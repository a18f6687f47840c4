/// Workloads that share their data: one process and one store for each engine and round.
public enum Exercise: String, Sendable, Codable, CaseIterable {
  /// W1 to W4 on rooms, W2 behind them.
  case rooms
  /// W1 with few leaves.
  case few
  /// W1 with a million leaves, W6.
  case many
  /// W5.
  case window
  /// W7.
  case eviction
  /// W9.
  case updates
  /// W10.
  case deletions
  /// W11.
  case stream
  /// W12.
  case snapshots

  /// What it measures, beside memory.
  public var workloads: Set<Workload> {
    switch self {
    case .rooms: [.W1, .W2, .W3, .W4]
    case .few: [.W1]
    case .many: [.W1, .W6]
    case .window: [.W5]
    case .eviction: [.W7]
    case .updates: [.W9]
    case .deletions: [.W10]
    case .stream: [.W11]
    case .snapshots: [.W12]
    }
  }
}
