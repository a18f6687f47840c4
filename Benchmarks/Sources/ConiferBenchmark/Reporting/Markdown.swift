extension Summary {
  /// All tables as Markdown: a line a figure, a column a candidate.
  ///
  /// - Parameter isWhole: whether to print percentiles, flushes and written bytes beside the
  ///   medians.
  public func markdown(isWhole: Bool = true) -> String {
    tables.map { table in
      ["Every commit `.\(table.durability)`:", table.caution, "", table.markdown(isWhole: isWhole)]
        .compactMap { $0 }.joined(separator: "\n")
    }.joined(separator: "\n\n")
  }
}

extension Summary.Table {
  /// What the table must not be used for; nil for nothing.
  ///
  /// At `.power` all flush each commit. Below that an engine may flush at its own moments, and each does at others.
  var caution: String? {
    durability == "power"
      ? nil
      : "Here engines flush at moments of their own: a row says what one engine gains by the weaker durability, "
        + "and nothing of one engine beside another."
  }

  func markdown(isWhole: Bool) -> String {
    var lines = ["| | " + candidates.joined(separator: " | ") + " |"]
    lines.append("|---|" + String(repeating: "---|", count: candidates.count))
    for line in self.lines {
      let cells = candidates.map { line.figure($0).map { Self.cell($0, isWhole) } ?? "" }
      lines.append(
        "| \(line.workload.rawValue) \(line.title), \(line.unit) | "
          + cells.joined(separator: " | ") + " |")
    }
    return lines.joined(separator: "\n")
  }

  private static func cell(_ figure: Summary.Figure, _ isWhole: Bool) -> String {
    var cell = Number.short(figure.value)
    guard isWhole else { return cell }
    if figure.lowest < figure.highest {
      cell += " [\(Number.short(figure.lowest))–\(Number.short(figure.highest))]"
    }
    if let p50 = figure.p50, let p99 = figure.p99, let longest = figure.longest {
      cell += "; \(Number.short(p50)) / \(Number.short(p99)) / \(Number.short(longest)) µs"
    }
    if let flushes = figure.flushes, let written = figure.written, written > 0 {
      cell += "; \(Number.short(flushes)) flushes, \(Number.short(written)) B"
    }
    return cell
  }
}

extension RunRecord {
  /// What ran where, in a few lines of Markdown.
  public var headline: String {
    let shares = outcomes.map(\.othersShare)
    let gib = Double(machine.memory) / Double(1 << 30)
    let sync = machine.appendAndSync.map { Number.short($0) }.joined(separator: " / ")
    return [
      "Plan \(plan.name), \(plan.rounds) rounds, seed \(plan.seed), \(started), commit \(commit ?? "not known").",
      "\(machine.processor), \(Number.short(gib)) GiB; \(machine.system); \(machine.fileSystem).",
      "256 bytes appended and synced: \(sync) µs (p50 / p99).",
      "Engines in C: \(machine.engines.joined(separator: ", ")).",
      "Others took \(Number.short(shares.median * 100)) % of the processors in the median trial and "
        + "\(Number.short((shares.max() ?? 0) * 100)) % in the worst.",
    ].joined(separator: "\n")
  }
}
