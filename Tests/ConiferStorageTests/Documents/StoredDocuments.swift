import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

@testable import ConiferStorage

/// Documents in memory with the rows of their indexes in a store.
struct StoredDocuments: DocumentSource {
  let all: [Document]
  private let byPath: [DocumentPath: Document]

  init(_ documents: [Document]) {
    all = documents.sorted { $0.path < $1.path }
    byPath = Dictionary(uniqueKeysWithValues: documents.map { ($0.path, $0) })
  }

  /// What a target gives, found by indexes.
  func answer(
    _ target: DocumentTarget, _ indexes: [DocumentIndex],
    isLeftOut: @escaping (DocumentPath) -> Bool = { _ in false }
  ) throws -> FoundDocuments {
    let rows = indexes.enumerated().map {
      DocumentIndexRows(
        $0.element, prefix: IndexSet.prefix(TreeID(rawValue: 1), UInt32($0.offset + 1)))
    }
    let store = MemoryStore()
    var listed: [Bytes: [Bytes]] = [:]
    for row in rows {
      for document in all {
        for row in row.rows(document) {
          listed[row.key, default: []] += row.segment.map { [$0] } ?? []
        }
      }
    }
    var batch = Batch()
    for (key, segments) in listed {
      let payload = IndexRow.payload(segments.sorted(by: bytesPrecede))
      batch.put(Spaces.indexes, key, Record.seal(Spaces.indexes, key, payload))
    }
    _ = try store.apply(batch, .relaxed)
    return try DocumentExecutor(target, store.view(), rows, self, isLeftOut: isLeftOut).find()
  }

  func documents(_ paths: [DocumentPath]) throws(StoreError) -> [Document?] {
    paths.map { byPath[$0] }
  }

  func walk(
    _ target: DocumentTarget, from first: DocumentPath?, through last: DocumentPath?,
    isReversed: Bool, _ visit: (Document?) throws(StoreError) -> Bool
  ) throws(StoreError) {
    for document in isReversed ? all.reversed() : all {
      let isIn =
        switch target.source {
        case .collection(let path): path.contains(document.path)
        case .group(let id): document.path.collection.id.utf8.elementsEqual(id.utf8)
        case .document(let path): document.path == path
        }
      guard isIn, first.map({ $0 <= document.path }) ?? true,
        last.map({ document.path <= $0 }) ?? true
      else { continue }
      if try !visit(target.matches(document) ? document : nil) { return }
    }
  }
}
