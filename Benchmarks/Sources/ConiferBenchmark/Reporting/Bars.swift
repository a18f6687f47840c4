/// The targets for backends, relative to raw LMDB with one leaf a row at the same durability in the
/// same run, and whether a run met them.
public struct Bars: Sendable {
  /// How a bar is put.
  enum Measure: Sendable {
    /// A rate, at least this many times the reference's.
    case rate
    /// A time, at most this many times the reference's.
    case time
    /// The same figure's own value, at most so much.
    case most
    /// A rate, at least this many times the candidate's own rate in another figure.
    case multiple(of: String)
    /// A rate; another rate of the same candidate is at most this many times as high.
    case within(of: String)
    /// A time, at most this many milliseconds above another time of the same candidate.
    case more(than: String)
    /// The median of a call, at most this many microseconds.
    case call
  }

  struct Bar: Sendable {
    let title: String
    let id: String
    let measure: Measure
    let best: Double
    let every: Double
  }

  static let all: [Bar] = [
    Bar(title: "W1 leaves a second", id: "load", measure: .rate, best: 1.7, every: 1),
    Bar(
      title: "W1 leaves a second, many", id: "load.many", measure: .rate, best: 2.5, every: 1),
    Bar(title: "W1 live bytes a leaf", id: "live", measure: .most, best: 15, every: 25),
    Bar(
      title: "W1 live bytes a leaf, tidied", id: "live.tidy", measure: .most, best: 15, every: 25),
    Bar(
      title: "W2 durable enqueue, one blocking writer", id: "enqueue.blocking", measure: .rate,
      best: 2.2, every: 0.9),
    Bar(title: "W2 by await", id: "enqueue", measure: .rate, best: 1.5, every: 0.6),
    Bar(
      title: "W2 by await, 16 writers, of one", id: "enqueue.writers",
      measure: .multiple(of: "enqueue"), best: 7, every: 4),
    Bar(title: "W3 whole room", id: "room", measure: .rate, best: 2.5, every: 1.5),
    Bar(
      title: "W3 whole room, looked at", id: "room.looked", measure: .rate, best: 2.5, every: 1.5),
    Bar(title: "W4 one leaf", id: "leaf", measure: .rate, best: 1, every: 0.3),
    Bar(title: "W4 a miss, µs", id: "leaf.miss", measure: .call, best: 60, every: 120),
    Bar(title: "W5 with index", id: "window.index", measure: .time, best: 1, every: 4),
    Bar(title: "W6 first read, ms", id: "open.warm.0", measure: .most, best: 3, every: 10),
    Bar(
      title: "W6 pending writes add, ms", id: "open.warm.pending",
      measure: .more(than: "open.warm.0"), best: 0.5, every: 0.5),
    Bar(title: "W7 evict half", id: "evict", measure: .time, best: 1, every: 4),
    Bar(
      title: "W7 files after as much again", id: "evict.growth", measure: .most, best: 1.1,
      every: 1.5),
    Bar(
      title: "W7 files after tidying", id: "evict.tidy.files", measure: .most, best: 0.75,
      every: 0.99),
    Bar(title: "W8 MB while loading many", id: "memory.many", measure: .most, best: 24, every: 48),
    Bar(
      title: "W9 update in big node, of W2", id: "update.big", measure: .within(of: "enqueue"),
      best: 1.3, every: 2),
    Bar(
      title: "W9 update in wide node, of W2", id: "update.wide", measure: .within(of: "enqueue"),
      best: 1.3, every: 2),
  ]

  /// One bar, and what came of it.
  public struct Verdict: Sendable {
    /// The measured figure.
    public let title: String
    /// In words, of the best backend and of each.
    public let asked: String
    /// The best backend's name and what it reached, and the same of the worst.
    public let best: (String, Double)?, worst: (String, Double)?
    /// Whether the best is good enough, and whether all are; nil when it was not measured.
    public let isMet: (best: Bool, every: Bool)?
    /// The value of each backend.
    public let reached: [(candidate: String, value: Double)]
  }

  /// In the order of the workloads.
  public let verdicts: [Verdict]
  /// Which table they were read from.
  public let durability: String

  /// The bars against a run.
  ///
  /// - Parameter durability: whose table; the bars are put for `.power`.
  public init(_ summary: Summary, durability: String = "power") {
    self.durability = durability
    let table = summary.tables.first { $0.durability == durability }
    verdicts = Self.all.map { Self.verdict($0, table) }
  }

  /// Whether everything that was measured is met.
  public var areMet: Bool { verdicts.allSatisfy { $0.isMet.map { $0.best && $0.every } ?? true } }
}
