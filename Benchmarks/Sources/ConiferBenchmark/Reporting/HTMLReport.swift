import Foundation
import Mustache

/// A run as one page: charts, tables and the raw record, with nothing to load.
public struct HTMLReport: Sendable {
  private let record: RunRecord
  private let summary: Summary

  /// A report of a run.
  public init(_ record: RunRecord) {
    self.record = record
    summary = Summary(record)
  }

  /// How many charts the page shows.
  public var chartCount: Int { summary.tables.reduce(0) { $0 + $1.lines.count } }

  /// The page.
  ///
  /// - Throws: when the record cannot be written as JSON.
  public func page() throws -> String {
    // Nothing in a script element may end it.
    let json = String(decoding: try record.json, as: UTF8.self)
      .replacingOccurrences(of: "<", with: "\\u003c")
    let template = try MustacheTemplate(string: ReportTemplate.text)
    let context: [String: Any] = [
      "plan": record.plan.name,
      "facts": record.headline.split(separator: "\n").map(String.init),
      "tables": summary.tables.map(Self.table), "json": json,
      "bars": bars,
    ]
    return template.render(context)
  }

  private var bars: [[String: Any]] {
    guard summary.tables.contains(where: { $0.durability == "power" }) else { return [] }
    return Bars(summary).verdicts.map { verdict in
      let isMet = verdict.isMet.map { $0.best && $0.every }
      return [
        "title": verdict.title, "asked": verdict.asked,
        "reached": verdict.reached.map { "\($0.candidate) \(Number.short($0.value))" }
          .joined(separator: ", "),
        "verdict": isMet.map { $0 ? "met" : "short" } ?? "not measured",
      ]
    }
  }

  private static func table(_ table: Summary.Table) -> [String: Any] {
    let workloads = Workload.allCases.compactMap { workload -> [String: Any]? in
      let lines = table.lines.filter { $0.workload == workload }
      guard !lines.isEmpty else { return nil }
      return [
        "name": workload.rawValue, "title": workload.title, "lines": lines.map(line),
      ]
    }
    return [
      "durability": table.durability, "cautions": [table.caution].compactMap { $0 },
      "workloads": workloads,
    ]
  }

  private static func line(_ line: Summary.Line) -> [String: Any] {
    let chart = BarChart(line: line)
    return [
      "title": line.title, "caption": chart.caption, "chart": chart.svg,
      "rows": line.figures.map { figure -> [String: Any] in
        func cell(_ value: Double?) -> String { value.map { Number.short($0) } ?? "" }
        return [
          "name": figure.candidate, "value": Number.short(figure.value),
          "lowest": Number.short(figure.lowest), "highest": Number.short(figure.highest),
          "p50": cell(figure.p50), "p99": cell(figure.p99), "longest": cell(figure.longest),
          "flushes": cell(figure.flushes), "written": cell(figure.written),
        ]
      },
    ]
  }
}
