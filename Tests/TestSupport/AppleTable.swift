import Foundation

/// The part of Docs/AppleSDK.md about one of the two models: each name of the Apple SDK, and what is here for it.
package struct AppleTable {
  /// A row of the tables.
  package struct Row {
    /// The Apple SDK's name, such as `observe(_:with:)`.
    package let name: String
    /// What is here: `same`, another name, or `not there:` with the reason.
    package let here: String
  }

  package let rows: [Row]

  /// Reads the page.
  ///
  /// - Parameter section: the heading of the part.
  package init(section: String) throws {
    let root = URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(
      contentsOf: root.appendingPathComponent("Docs/AppleSDK.md"), encoding: .utf8)
    var isInside = false
    var rows: [Row] = []
    for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("## ") { isInside = line == "## \(section)" }
      guard isInside, line.hasPrefix("| `") else { continue }
      let cells = line.dropFirst(2).components(separatedBy: " | ")
      let name = cells[0].trimmingCharacters(in: CharacterSet(charactersIn: "` "))
      let here = cells.dropFirst().joined(separator: " | ")
      rows.append(
        Row(name: name, here: here.trimmingCharacters(in: CharacterSet(charactersIn: "| "))))
    }
    self.rows = rows
  }

  /// The rows that say neither what is here nor why nothing is.
  package var withoutReason: [String] {
    rows.filter { row in
      let reason = row.here.hasPrefix("not there:") ? row.here.dropFirst("not there:".count) : nil
      return row.here.isEmpty || row.here == "not there" || reason?.count ?? .max < 10
    }.map(\.name)
  }

  /// The names that are said to be the same and that no line of a sample uses.
  ///
  /// - Parameter sample: the path of a source file that is compiled with the tests, which calls all of them with all labels.
  package func unused(in sample: String) throws -> [String] {
    let text = try String(contentsOfFile: sample, encoding: .utf8)
    let lines = text.components(separatedBy: "\n")
    return rows.filter { row in
      row.here.hasPrefix("same") && !lines.contains { Self.uses($0, row.name) }
    }.map(\.name)
  }

  /// Whether a line uses a name: calls the function with its labels in their order, or reads the property.
  package static func uses(_ line: String, _ name: String) -> Bool {
    // A member of a nested type is looked for by its own name.
    let parts = name.components(separatedBy: "(")
    let base = parts[0].components(separatedBy: ".").last ?? name
    guard parts.count == 2 else {
      return line.components(separatedBy: base).dropFirst().contains { rest in
        rest.first.map { !$0.isLetter && !$0.isNumber } ?? true
      }
    }
    guard let start = line.range(of: "\(base)(") else { return false }
    var rest = line[start.upperBound...]
    for label in parts[1].dropLast().components(separatedBy: ":") where !["", "_"].contains(label) {
      guard let found = rest.range(of: "\(label): ") else { return false }
      rest = rest[found.upperBound...]
    }
    return true
  }
}
