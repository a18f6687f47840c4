import ConiferDocument
import ConiferKeyValue

/// The names that rows of several scans have in common, in their order.
struct DocumentJoin {
  /// A scan in ascending or descending order of names, with its position.
  private struct Cursor {
    /// How many rows are read at once.
    static let batch = 64
    var walk: DocumentIndexWalk
    var rows: ArraySlice<DocumentIndexWalk.Row> = []

    /// The row that the cursor is at; nil at the end.
    mutating func row() throws(StoreError) -> DocumentIndexWalk.Row? {
      if rows.isEmpty { rows = try walk.next(Self.batch)[...] }
      return rows.first
    }

    /// Skips the rows before a name.
    mutating func seek(_ path: DocumentPath, isDescending: Bool) throws(StoreError) {
      func isBefore(_ row: DocumentIndexWalk.Row) -> Bool {
        isDescending ? row.entry.path > path : row.entry.path < path
      }
      while let row = try row() {
        guard isBefore(row) else { return }
        // Rows that are already read are skipped one by one, the others at once.
        rows = rows.drop(while: isBefore)
        if rows.isEmpty { walk.skip(to: path, from: row) }
      }
    }
  }

  private var cursors: [Cursor]
  private let isDescending: Bool

  init(_ walks: [DocumentIndexWalk]) {
    cursors = walks.map { Cursor(walk: $0) }
    isDescending =
      walks.first.map { $0.isReversed == ($0.rows.index.nameDirection == .ascending) } ?? false
  }

  /// How many rows were read.
  var count: Int { cursors.reduce(0) { $0 + $1.walk.count } }

  /// A row of the next document that all scans name; nil at the end.
  mutating func next() throws(StoreError) -> (row: DocumentIndexWalk.Row, rows: DocumentIndexRows)?
  {
    guard var path = try cursors.first == nil ? nil : cursors[0].row()?.entry.path else {
      return nil
    }
    var agreed = 0
    var place = 0
    while agreed < cursors.count {
      try cursors[place].seek(path, isDescending: isDescending)
      guard let found = try cursors[place].row()?.entry.path else { return nil }
      agreed = found == path ? agreed + 1 : 1
      path = found
      place = (place + 1) % cursors.count
    }
    guard let row = cursors[0].rows.first else { return nil }
    cursors[0].rows.removeFirst()
    return (row, cursors[0].walk.rows)
  }
}
