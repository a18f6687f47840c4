import ConiferDocument

/// The documents that a target gives, and how they were found.
struct FoundDocuments {
  /// The way in which documents were found.
  enum Access: Hashable {
    /// They were asked for by name.
    case names
    /// Every document of the collection, or of all collections of a group, was read.
    case whole
    /// The documents that a tracked query matched were read, and those that were read since.
    case matches
    /// The rows of these indexes were read, and the documents that they name; indexes whose rows were
    /// joined stand together.
    case indexes([[DocumentIndex]])
  }

  /// The documents in the target's order, within its limit.
  var documents: [Document] = []
  /// The way in which they were found.
  let access: Access
  /// Whether all that was found had to be sorted; a limit ends the reading otherwise.
  let isSorted: Bool
  /// The index that would have spared reading every document; nil when none would.
  let hint: DocumentIndex?
  /// How many rows of indexes were read.
  var rowsRead = 0
  /// How many documents were looked at.
  var documentsRead = 0
  /// How many of them were decoded whole.
  var documentsDecoded = 0

  /// Counts a document that was decoded whole.
  mutating func countDocument() {
    documentsRead += 1
    documentsDecoded += 1
  }
}
