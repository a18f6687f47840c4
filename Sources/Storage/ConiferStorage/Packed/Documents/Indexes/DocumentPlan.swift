import ConiferDocument
import ConiferKeyValue

/// The plan by which the documents of a target are found.
///
/// It finds candidates; the reader must check `DocumentTarget.matches`.
struct DocumentPlan: Sendable {
  /// Rows of one index, read in their order or from their end.
  struct Scan: Hashable, Sendable {
    /// The index's place among those that are ready.
    let index: Int
    /// The rows, in ranges that ascend.
    let ranges: [RowRange]
    /// Whether they are read from their end.
    let isReversed: Bool
    /// What rows must meet for their documents to be read: one of these, anything when there are none.
    var tests: [RowTest] = []

    /// Whether both read the same rows.
    func readsSameRows(_ other: Scan) -> Bool {
      index == other.index && ranges == other.ranges && isReversed == other.isReversed
    }
  }

  /// A way to find some of the documents.
  enum Part: Hashable, Sendable {
    /// One document.
    case key(DocumentPath)
    /// Those that rows name.
    case rows(Scan)
    /// Documents that rows of all these scans name; within each scan the names are in one order.
    case join([Scan])
  }

  /// The way to find the documents.
  enum Access: Sendable {
    /// Every document of the source is read, from a path through another one, or from the end.
    case whole(from: DocumentPath?, through: DocumentPath?, isReversed: Bool)
    /// The documents of all parts, each once.
    case parts([Part])
  }

  let access: Access
  /// Whether documents come in the target's order (in each part, if there are several), so that
  /// reading can stop at the limit. Otherwise they are sorted.
  let isOrdered: Bool
  /// The index that would spare reading every document; nil when none would.
  let hint: DocumentIndex?
}
