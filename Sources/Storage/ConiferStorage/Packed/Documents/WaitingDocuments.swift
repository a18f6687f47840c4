import ConiferDocument
import ConiferKeyValue

/// The documents of a target's source that waiting writes of a lane change.
struct WaitingDocuments {
  /// The stored overlay of a document that may match.
  struct Row {
    let path: DocumentPath
    /// The conditions that the server's word of the document must meet; nil when the waiting writes set all of its fields.
    let open: [FieldCondition]?
    let space: Space
    /// The row's bytes behind the path.
    let content: Bytes
  }

  /// Those that may match, in the order of their documents.
  private(set) var rows: [Row] = []
  /// The documents that do not match, whatever the server says of them, in their order.
  private var outside: [DocumentPath] = []

  /// How many documents waiting writes change.
  var count: Int { rows.count + outside.count }

  /// Adds a document that may match.
  mutating func add(_ row: Row) { rows.append(row) }

  /// Adds a document that does not match.
  mutating func addOutside(_ path: DocumentPath) { outside.append(path) }

  /// Brings all that was added in order, which the rest expects.
  mutating func sort() {
    // They mostly come in order.
    if !rows.indices.dropFirst().allSatisfy({ rows[$0 - 1].path < rows[$0].path }) {
      rows.sort { $0.path < $1.path }
    }
    if !outside.indices.dropFirst().allSatisfy({ outside[$0 - 1] < outside[$0] }) {
      outside.sort()
    }
  }

  /// Whether waiting writes change a document.
  func contains(_ path: DocumentPath) -> Bool { isOutside(path) || row(path) != nil }

  /// Whether a document does not match, whatever the server says of it.
  func isOutside(_ path: DocumentPath) -> Bool {
    let place = outside.partition { $0 < path }
    return place < outside.count && outside[place] == path
  }

  /// The row of a document that may match.
  func row(_ path: DocumentPath) -> Row? {
    let place = rows.partition { $0.path < path }
    return place < rows.count && rows[place].path == path ? rows[place] : nil
  }
}

extension Array {
  /// The place of the first element of a sorted array that does not come before something.
  fileprivate func partition(_ precedes: (Element) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if precedes(self[middle]) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
