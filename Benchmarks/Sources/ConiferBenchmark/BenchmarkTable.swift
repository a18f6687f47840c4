public import ConiferKeyValue

/// What a run at one durability came to.
public struct BenchmarkTable: Sendable {
  /// One workload of one candidate; medians over the rounds.
  public struct Figure: Sendable, Codable {
    /// What was measured.
    public let workload: Workload
    /// Units in a second.
    public let rate: Double
    /// The slowest and the fastest round's rate.
    public let lowest: Double, highest: Double
    /// Microseconds that a call took: half of them at most so long, 99 of 100, and all.
    public let p50: Double, p99: Double, max: Double
  }

  /// One candidate.
  public struct Row: Sendable, Codable {
    /// The candidate's name.
    public let candidate: String
    /// One figure a workload, in the order of `Workload`.
    public var figures: [Figure] = []
    /// Bytes that hold live data after the load, for each leaf.
    public var liveBytesPerLeaf = 0.0
    /// Bytes of all files after the load, for each leaf.
    public var fileBytesPerLeaf = 0.0
  }

  /// The durability of every commit.
  public let durability: Durability
  /// One row a candidate.
  public let rows: [Row]

  /// The table as Markdown.
  public var markdown: String {
    var lines = ["Every commit `.\(durability)`:", ""]
    lines.append("| | " + rows.map(\.candidate).joined(separator: " | ") + " |")
    lines.append("|---|" + String(repeating: "---|", count: rows.count))
    for (index, workload) in Workload.allCases.enumerated() {
      let cells = rows.map { row -> String in
        let figure = row.figures[index]
        return
          "\(Self.short(figure.rate)) (\(Self.short(figure.p50)) / \(Self.short(figure.p99)) µs)"
      }
      lines.append(
        "| \(workload.rawValue), \(workload.unit) | " + cells.joined(separator: " | ") + " |")
    }
    for (name, bytes) in [("live", \Row.liveBytesPerLeaf), ("file", \Row.fileBytesPerLeaf)] {
      let cells = rows.map { Self.short($0[keyPath: bytes]) }
      lines.append("| \(name) bytes a leaf | " + cells.joined(separator: " | ") + " |")
    }
    return lines.joined(separator: "\n")
  }

  private static func short(_ value: Double) -> String {
    let rounded = value < 100 ? (value * 10).rounded() / 10 : value.rounded()
    return value < 100 ? "\(rounded)" : "\(Int(rounded))"
  }
}
