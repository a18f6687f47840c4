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

  /// Path keys between which nothing is stored; up to the end without a second one.
  private struct Gap {
    let from: Bytes
    let to: Bytes?

    func contains(_ key: Bytes) -> Bool {
      compareBytes(from, key) <= 0 && (to.map { compareBytes(key, $0) < 0 } ?? true)
    }
  }

  private let reader: DocumentReader<RunReader>
  private var cursor: LeafCursor<RunReader>
  /// Where the last search found nothing.
  private var gap: Gap?

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
    if gap?.contains(key) == true { return .unseen }
    switch try cursor.find(key) {
    case .leaf: break
    case .gap(let end):
      gap = Gap(from: key, to: end)
      return .unseen
    case .nothing: return .unseen
    }
    if !conditions.isEmpty,
      try reader.withValue(at: cursor, { DocumentRecord.fails($0, conditions) }) == true
    {
      return .outside
    }
    return .document(try reader.document(path, at: cursor))
  }
}
