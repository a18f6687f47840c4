import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Finds the documents that a query gives, with the waiting writes of a lane.
struct DocumentFinder {
  private let documents: DocumentReader<RunReader>
  private let overlays: OverlayRows
  private let meter: ReadMeter

  init(_ view: LeafSnapshot, _ lane: Lane) throws(StoreError) {
    meter = ReadMeter()
    documents = try DocumentReader(view, lane.tree, meter)
    overlays = OverlayRows(view: view, lane: lane)
  }

  func answer(_ query: DocumentQuery) throws(StoreError) -> DocumentAnswer {
    do throws(DocumentError) { try query.validate() } catch {
      throw StoreError(.invalid, error.message)
    }
    let target = query.target
    var found = Found(target)
    var explanation: DocumentExplanation
    switch target.source {
    case .document(let path):
      explanation = DocumentExplanation(.document)
      let overlay = try overlays.overlay(path)
      explanation.overlays = overlay == nil ? 0 : 1
      explanation.documentsRead = 1
      let base = try documents.document(path)
      found.add(overlay?.applied(to: base) ?? base)
    case .collection(let collection):
      explanation = DocumentExplanation(.scan(collections: 1))
      try scan(collection, &found, &explanation)
    case .group(let id):
      let stored = try documents.collections(withID: id)
      explanation = DocumentExplanation(.scan(collections: stored.count))
      for collection in stored { try scan(collection, &found, &explanation) }
      try addUnstored(Set(stored), id, &found, &explanation)
    }
    explanation.runsRead = meter.runs
    explanation.bytesDecoded = meter.bytes
    let result = found.sorted
    return DocumentAnswer(
      query.limit?.side == .last ? result.reversed() : result, explanation)
  }

  /// Looks at all documents of a collection.
  private func scan(
    _ collection: CollectionPath, _ found: inout Found, _ explanation: inout DocumentExplanation
  ) throws(StoreError) {
    var pending: [DocumentPath: Overlay] = [:]
    for overlay in try overlays.all(in: collection) { pending[overlay.path] = overlay }
    explanation.overlays += pending.count
    let key = DocumentKey.encode(collection)
    var (finds, read) = (found, 0)
    try documents.forEach(from: key, to: key + [PathKey.endMark]) { document in
      read += 1
      finds.add(pending.removeValue(forKey: document.path)?.applied(to: document) ?? document)
      return !finds.isComplete
    }
    explanation.documentsRead += read
    // What is left was made here.
    for overlay in pending.values {
      finds.add(overlay.applied(to: Document(overlay.path, .unseen)))
    }
    found = finds
  }

  /// Adds documents that were made here, in collections of which nothing is stored.
  private func addUnstored(
    _ stored: Set<CollectionPath>, _ id: String, _ found: inout Found,
    _ explanation: inout DocumentExplanation
  ) throws(StoreError) {
    for overlay in try overlays.all() where overlay.path.collection.id.utf8.elementsEqual(id.utf8) {
      guard !stored.contains(overlay.path.collection) else { continue }
      explanation.overlays += 1
      found.add(overlay.applied(to: Document(overlay.path, .unseen)))
    }
  }

  /// The documents that were found so far: not many more than the limit keeps.
  private struct Found {
    private let target: DocumentTarget
    private var documents: [Document] = []

    init(_ target: DocumentTarget) { self.target = target }

    /// Whether no document behind those of a collection that were added can be among them.
    var isComplete: Bool {
      guard let limit = target.limit, case .collection = target.source, target.orders.count == 1,
        target.orders.allSatisfy({ $0.field.isDocumentID && $0.direction == .ascending })
      else { return false }
      return documents.count >= limit
    }

    mutating func add(_ document: Document) {
      guard target.matches(document) else { return }
      documents.append(document)
      if let limit = target.limit, documents.count >= 2 * limit + 256 {
        documents = sorted
      }
    }

    var sorted: [Document] {
      let sorted = documents.sorted { target.compare($0, $1) < 0 }
      return target.limit.map { Array(sorted.prefix($0)) } ?? sorted
    }
  }
}
