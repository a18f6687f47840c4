import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Reads documents that are asked for in the order of their keys, for the most part: nothing is searched for one that lies
/// where the last search found nothing.
struct AscendingDocuments {
  /// What was found of a document.
  enum Found {
    /// Nothing is stored of it.
    case unseen
    /// It fails a condition.
    case outside
    case document(Document)
  }

  /// Where the cursor is.
  private enum Place {
    /// Nothing was asked for.
    case start
    /// At the first leaf from a key on, with its key; nil where there is none.
    case leaf(from: Bytes, at: Bytes?)
  }

  private let reader: DocumentReader<RunReader>
  private var cursor: LeafCursor<RunReader>
  private var place = Place.start

  init(_ reader: DocumentReader<RunReader>) {
    self.reader = reader
    cursor = LeafCursor(reader.runs, [], [PathKey.endMark], reader.meter)
  }

  /// What is stored of a document.
  ///
  /// - Parameter conditions: a document that exists and fails one of them is not decoded.
  mutating func find(
    _ path: DocumentPath, _ conditions: [FieldCondition]
  ) throws(StoreError) -> Found {
    let key = DocumentKey.encode(path)
    guard try moves(to: key) else { return .unseen }
    if !conditions.isEmpty,
      try reader.withValue(at: cursor, { DocumentRecord.fails($0, conditions) }) == true
    {
      return .outside
    }
    return .document(try reader.document(path, at: cursor))
  }

  /// Whether a leaf with a path key is stored; the cursor is at it then.
  private mutating func moves(to key: Bytes) throws(StoreError) -> Bool {
    if case .leaf(let from, let here) = place, compareBytes(from, key) <= 0,
      here.map({ compareBytes(key, $0) <= 0 }) ?? true
    {
      return here == key
    }
    let here = try cursor.seek(key) ? cursor.key : nil
    place = .leaf(from: key, at: here)
    return here == key
  }
}
