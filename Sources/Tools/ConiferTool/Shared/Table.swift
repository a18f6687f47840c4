/// Rows of text in aligned columns, for people.
struct Table {
  private var rows: [[String]]

  /// A table under headings; no headings, no line for them.
  init(_ headings: [String] = []) { rows = headings.isEmpty ? [] : [headings] }

  mutating func add(_ cells: String...) { add(cells) }
  mutating func add(_ cells: [String]) { rows.append(cells.map(\.shown)) }

  /// One line a row; the last column is not padded.
  var lines: [String] {
    var widths: [Int] = []
    for row in rows {
      for (column, cell) in row.enumerated() {
        if column == widths.count { widths.append(0) }
        widths[column] = max(widths[column], cell.count)
      }
    }
    return rows.map { row in
      var line = ""
      for (column, cell) in row.enumerated() {
        line += cell
        guard column < row.count - 1 else { break }
        line += String(repeating: " ", count: widths[column] - cell.count + 2)
      }
      return line
    }
  }
}
