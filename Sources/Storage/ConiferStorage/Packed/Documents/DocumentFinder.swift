import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Finds the documents that a query gives, with the waiting writes of a lane.
///
/// Indexes contain only what the server sent. Documents that waiting writes change are left out of
/// them, and are checked one by one.
struct DocumentFinder {
  private let view: LeafSnapshot
  private let lane: Lane
  private let documents: DocumentReader<RunReader>
  private let overlays: OverlayRows
  private let meter: ReadMeter
  private let allowance: ReadAllowance?
  private let keepsIndexes: Bool

  /// - Parameters:
  ///   - allowance: what may be kept of what the server sent; nil for all of it.
  ///   - keepsIndexes: whether indexes may be declared.
  init(
    _ view: LeafSnapshot, _ lane: Lane, _ allowance: ReadAllowance? = nil, keepsIndexes: Bool
  ) throws(StoreError) {
    self.allowance = allowance
    self.keepsIndexes = keepsIndexes
    self.view = view
    self.lane = lane
    meter = ReadMeter()
    documents = try DocumentReader(view, lane.tree, meter)
    overlays = OverlayRows(view: view, lane: lane)
  }

  /// - Parameter id: the tracked query that this one is, when it is one: it may be answered from its matches.
  func answer(_ query: DocumentQuery, _ id: QueryID?) throws(StoreError) -> DocumentAnswer {
    do throws(DocumentError) { try query.validate() } catch {
      throw StoreError(.invalid, error.message)
    }
    let target = query.target
    let indexes = try DocumentIndexes.indexes(view, lane.tree)
    let pending = try overlays.waiting(for: target)
    let stored = SnapshotDocuments(documents)
    let matches = MatchesExecutor(
      view: view, lane: lane, target: target, indexes: indexes.ready, documents: stored,
      overlays: overlays, pending: pending)
    let matched = if let id { try matches.find(id) } else { FoundDocuments?.none }
    var found =
      if let matched {
        matched
      } else {
        try DocumentExecutor(
          target, view, indexes.ready, stored, allowance, isLeftOut: pending.contains
        ).find()
      }
    try addPending(pending, over: &found, target)
    var explanation = explanation(found, target, stored)
    explanation.overlays = pending.count
    if found.access == .whole { addHint(target, indexes, found.hint, &explanation) }
    let result = found.documents
    return DocumentAnswer(query.limit?.side == .last ? result.reversed() : result, explanation)
  }

  /// Adds the documents that waiting writes change and that match then.
  ///
  /// Of a document whose fields are all written, the server's word is read only if it is among those
  /// that are given.
  private func addPending(
    _ pending: WaitingDocuments, over found: inout FoundDocuments, _ target: DocumentTarget
  ) throws(StoreError) {
    var bases = AscendingDocuments(documents)
    var added: [Document] = []
    for row in pending.rows {
      var base = Document(row.path, .unseen)
      if let open = row.open {
        switch try bases.find(row.path, open) {
        case .unseen where !open.isEmpty: continue
        case .unseen: break
        case .outside:
          found.documentsRead += 1
          continue
        case .document(let document):
          found.countDocument()
          base = document
        }
      }
      let document = try overlays.overlay(row).applied(to: base)
      if target.matches(document) { added.append(document) }
    }
    guard !added.isEmpty else { return }
    let all = (found.documents + added).sorted { target.compare($0, $1) < 0 }
    found.documents = target.limit.map { Array(all.prefix($0)) } ?? all
    for index in found.documents.indices {
      guard let row = pending.row(found.documents[index].path), row.open == nil else { continue }
      let base = try documents.document(row.path)
      if base.state != .unseen { found.countDocument() }
      found.documents[index] = try overlays.overlay(row).applied(to: base)
    }
  }

  private func explanation(
    _ found: FoundDocuments, _ target: DocumentTarget, _ stored: SnapshotDocuments
  ) -> DocumentExplanation {
    let plan: DocumentExplanation.Plan =
      switch found.access {
      case .names: .document
      case .whole: .scan(collections: stored.collections)
      case .matches: .matches
      case .indexes(let groups): .indexes(groups)
      }
    var explanation = DocumentExplanation(plan)
    explanation.documentsRead = found.documentsRead
    explanation.documentsDecoded = found.documentsDecoded
    explanation.indexEntries = found.rowsRead
    explanation.isSorted = found.isSorted
    explanation.runsRead = meter.runs
    explanation.bytesDecoded = meter.bytes
    return explanation
  }

  /// Adds the index that is being built and will serve the query, or else the one that would have
  /// spared reading every document, or else why there can be none.
  private func addHint(
    _ target: DocumentTarget, _ indexes: DocumentIndexes, _ hint: DocumentIndex?,
    _ explanation: inout DocumentExplanation
  ) {
    let building = indexes.building.first { index in
      guard case .parts = DocumentPlanner.plan(target, indexes.ready + [index]).access else {
        return false
      }
      return true
    }
    explanation.building = building?.index
    guard building == nil else { return }
    if keepsIndexes { explanation.hint = hint }
    if explanation.hint == nil { explanation.obstacle = obstacle(target, hint) }
  }

  /// - Parameter hint: the index that may not be declared; nil when none would serve the target.
  private func obstacle(
    _ target: DocumentTarget, _ hint: DocumentIndex?
  ) -> DocumentExplanation.Obstacle? {
    if hint != nil { return .encryption }
    guard case .collection(let collection) = target.source else { return nil }
    let (bytes, most) = (
      DocumentIndexRows.bytes(collection).count, DocumentIndexRows.longestCollection
    )
    guard bytes > most, let short = try? CollectionPath(collection.id) else { return nil }
    let elsewhere = DocumentTarget(
      source: .collection(short), filter: target.filter, orders: target.orders,
      limit: target.limit, start: target.start, end: target.end)
    return DocumentPlanner.plan(elsewhere, []).hint.map { _ in
      keepsIndexes ? .longPath(bytes: bytes, most: most) : .encryption
    }
  }
}
