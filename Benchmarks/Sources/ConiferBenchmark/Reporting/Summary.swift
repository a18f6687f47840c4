/// The figures of a run: medians over the rounds, by durability, workload and candidate.
public struct Summary: Sendable {
  /// The result of a candidate.
  public struct Figure: Sendable {
    /// The candidate.
    public let candidate: String
    /// Its kind.
    public let kind: Candidate.Kind
    /// The median of the rounds, the lowest and the highest.
    public let value: Double, lowest: Double, highest: Double
    /// Medians of the microseconds that a call took, where calls were timed.
    public let p50: Double?, p99: Double?, longest: Double?
    /// Calls that waited for the medium, and bytes handed to the system, for each timed call.
    public let flushes: Double?, written: Double?
  }

  /// One figure of all candidates at one durability.
  public struct Line: Sendable {
    /// The figure's stable name.
    public let id: String
    /// The workload that it belongs to.
    public let workload: Workload
    /// What was done, in words.
    public let title: String
    /// What it counts.
    public let unit: String
    /// Whether more is better.
    public let isRate: Bool
    /// In the order of the candidates.
    public let figures: [Figure]

    /// A candidate's figure.
    public func figure(_ candidate: String) -> Figure? {
      figures.first { $0.candidate == candidate }
    }
  }

  /// All lines of one durability; they are never mixed.
  public struct Table: Sendable {
    /// The durability's name.
    public let durability: String
    /// The candidates, in the order in which they take part.
    public let candidates: [String]
    /// One line a figure.
    public let lines: [Line]

    /// The line with a stable name.
    public func line(_ id: String) -> Line? { lines.first { $0.id == id } }
  }

  /// One table a durability, in the order in which they ran.
  public let tables: [Table]

  /// Sums a run up.
  public init(_ record: RunRecord) {
    var tables: [Table] = []
    for durability in record.outcomes.map(\.durability).unique {
      let outcomes = record.outcomes.filter { $0.durability == durability }
      // Rounds begin with different candidates.
      let first = outcomes.filter { $0.round == 0 }.map(\.candidate).unique
      let candidates = first + outcomes.map(\.candidate).unique.filter { !first.contains($0) }
      let ids = outcomes.flatMap { $0.measurements.map(\.id) }.unique
      let lines = ids.compactMap { Self.line($0, outcomes, candidates) }
      tables.append(
        Table(
          durability: durability, candidates: candidates,
          lines: Workload.allCases.flatMap { workload in
            lines.filter { $0.workload == workload }
          }))
    }
    self.tables = tables
  }

  private static func line(_ id: String, _ outcomes: [Outcome], _ candidates: [String]) -> Line? {
    var shape: Measurement?
    var figures: [Figure] = []
    for candidate in candidates {
      let own = outcomes.filter { $0.candidate == candidate }
      let found = own.flatMap { $0.measurements.filter { $0.id == id } }
      guard let one = found.first, let kind = own.first?.kind else { continue }
      shape = shape ?? one
      let values = found.map(\.value).sorted()
      func median(_ part: (Measurement) -> Double?) -> Double? {
        let parts = found.compactMap(part)
        return parts.isEmpty ? nil : parts.median
      }
      func perCall(_ part: (Measurement) -> Int?) -> Double? {
        median { one in part(one).map { Double($0) / Double(max(1, one.calls ?? 1)) } }
      }
      figures.append(
        Figure(
          candidate: candidate, kind: kind, value: values.median, lowest: values.first ?? 0,
          highest: values.last ?? 0, p50: median(\.p50), p99: median(\.p99),
          longest: median(\.longest), flushes: perCall(\.flushes), written: perCall(\.written)))
    }
    return shape.map {
      Line(
        id: id, workload: $0.workload, title: $0.title, unit: $0.unit, isRate: $0.isRate,
        figures: figures)
    }
  }
}

extension [Double] {
  /// The value in the middle; the mean of the two there; 0 of none.
  var median: Double {
    let sorted = self.sorted()
    guard let middle = sorted.dropFirst(count / 2).first else { return 0 }
    return count % 2 == 1 ? middle : (middle + sorted[count / 2 - 1]) / 2
  }
}

extension Array where Element: Hashable {
  /// Each element where it comes first.
  var unique: [Element] {
    var seen: Set<Element> = []
    return filter { seen.insert($0).inserted }
  }
}
