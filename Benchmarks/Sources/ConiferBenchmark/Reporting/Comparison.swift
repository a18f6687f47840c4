/// Two runs side by side: what became faster or slower beyond the spread of either.
public struct Comparison: Sendable {
  /// One figure of one candidate in both runs.
  public struct Row: Sendable {
    /// Durability, candidate and figure.
    public let durability: String, candidate: String, title: String
    /// The medians.
    public let before: Double, after: Double
    /// How many times as good the second run is.
    public let gain: Double
    /// Whether the ranges of the rounds do not touch.
    public let isClear: Bool
  }

  /// All figures that both runs have.
  public let rows: [Row]

  /// Compares two runs.
  public init(_ before: Summary, _ after: Summary) {
    var rows: [Row] = []
    for table in before.tables {
      guard let other = after.tables.first(where: { $0.durability == table.durability }) else {
        continue
      }
      for line in table.lines {
        for figure in line.figures {
          guard let now = other.line(line.id)?.figure(figure.candidate) else { continue }
          let ratio = figure.value > 0 ? now.value / figure.value : 1
          rows.append(
            Row(
              durability: table.durability, candidate: figure.candidate, title: line.title,
              before: figure.value, after: now.value,
              gain: line.isRate ? ratio : ratio > 0 ? 1 / ratio : 1,
              isClear: now.lowest > figure.highest || now.highest < figure.lowest))
        }
      }
    }
    self.rows = rows
  }

  /// The clear differences, the largest first, as text; then how many figures there are.
  public var text: String {
    let clear = rows.filter { $0.isClear && abs($0.gain - 1) > 0.02 }
      .sorted { max($0.gain, 1 / $0.gain) > max($1.gain, 1 / $1.gain) }
    let lines = clear.map { row in
      let (before, after) = (Number.short(row.before), Number.short(row.after))
      let word = row.gain > 1 ? "better" : "worse"
      return "\(Number.short(row.gain))x \(word): \(row.candidate), .\(row.durability), "
        + "\(row.title): \(before) → \(after)"
    }
    let rest = rows.count - clear.count
    return (lines + ["\(rest) of \(rows.count) figures do not differ beyond their spread."])
      .joined(separator: "\n")
  }
}
