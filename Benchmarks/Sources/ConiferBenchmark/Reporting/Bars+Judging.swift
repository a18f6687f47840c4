extension Bars {
  static func verdict(_ bar: Bar, _ table: Summary.Table?) -> Verdict {
    let lessIsBetter = isUpper(bar.measure)
    let asked =
      "\(sign(lessIsBetter)) \(Number.short(bar.best)) best, \(Number.short(bar.every)) every"
    var reached: [(candidate: String, value: Double)] = []
    if let table {
      for figure in (line(bar, table)?.figures ?? []) where isDiskBackend(figure, table) {
        if let value = value(bar, figure, table) { reached.append((figure.candidate, value)) }
      }
    }
    reached.sort { lessIsBetter ? $0.value < $1.value : $0.value > $1.value }
    func meets(_ value: Double, _ limit: Double) -> Bool {
      lessIsBetter ? value <= limit : value >= limit
    }
    var isMet: (best: Bool, every: Bool)?
    if let best = reached.first, let worst = reached.last {
      isMet = (meets(best.value, bar.best), meets(worst.value, bar.every))
    }
    return Verdict(
      title: bar.title, asked: asked, best: reached.first.map { ($0.candidate, $0.value) },
      worst: reached.last.map { ($0.candidate, $0.value) }, isMet: isMet, reached: reached)
  }

  private static func sign(_ lessIsBetter: Bool) -> String { lessIsBetter ? "≤" : "≥" }

  private static func isUpper(_ measure: Measure) -> Bool {
    switch measure {
    case .rate, .multiple: false
    case .time, .most, .within, .more, .call: true
    }
  }

  /// Backends that the package ships and that keep files.
  private static func isDiskBackend(_ figure: Summary.Figure, _ table: Summary.Table) -> Bool {
    figure.kind == .backend && !["memory", "journal"].contains(figure.candidate)
  }

  /// The line of a bar; the one with the most pending writes stands for all of them.
  private static func line(_ bar: Bar, _ table: Summary.Table) -> Summary.Line? {
    guard bar.id == "open.warm.pending" else { return table.line(bar.id) }
    return table.lines.filter { $0.id.hasPrefix("open.warm.") && $0.id != "open.warm.0" }
      .max { (Int($0.id.dropFirst(10)) ?? 0) < (Int($1.id.dropFirst(10)) ?? 0) }
  }

  private static func value(
    _ bar: Bar, _ figure: Summary.Figure, _ table: Summary.Table
  ) -> Double? {
    func own(_ id: String) -> Double? { table.line(id)?.figure(figure.candidate)?.value }
    func ratio(_ a: Double?, _ b: Double?) -> Double? {
      guard let a, let b, b > 0 else { return nil }
      return a / b
    }
    let reference = line(bar, table)?.figure(Candidate.reference)?.value
    switch bar.measure {
    case .rate, .time: return ratio(figure.value, reference)
    case .most: return figure.value
    case .multiple(let id): return ratio(figure.value, own(id))
    case .within(let id): return ratio(own(id), figure.value)
    case .more(let id): return own(id).map { figure.value - $0 }
    case .call: return figure.p50
    }
  }

  /// A line a bar: asked, measured, met or short.
  public var text: String {
    let rows = verdicts.map { verdict -> [String] in
      guard let best = verdict.best, let worst = verdict.worst, let isMet = verdict.isMet else {
        return [verdict.title, verdict.asked, "not measured", ""]
      }
      let all = verdict.reached.map { "\($0.candidate) \(Number.short($0.value))" }
      let words =
        switch (isMet.best, isMet.every) {
        case (true, true): "met"
        case (false, true): "short: best, \(best.0)"
        case (true, false): "short: \(worst.0)"
        case (false, false): "short: best, \(best.0); \(worst.0)"
        }
      return [verdict.title, verdict.asked, all.joined(separator: ", "), words]
    }
    let widths = (0..<3).map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      zip(row, widths + [0]).map { $0.padded(to: $1) }.joined(separator: "  ")
    }.joined(separator: "\n")
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String {
    self + String(repeating: " ", count: Swift.max(0, width - count))
  }
}
