import ConiferDocument
import ConiferKeyValue
import ConiferLeafStore

/// Executes the plan of one query of documents on a snapshot.
final class DocumentExecutor {
  /// The index row in which a document was found.
  struct IndexRowReference {
    let key: Bytes
    let valuesStart: Int
    let rows: DocumentIndexRows

    init(_ row: DocumentIndexWalk.Row, of rows: DocumentIndexRows) {
      key = row.key
      valuesStart = row.entry.valuesStart
      self.rows = rows
    }
  }

  /// How many documents beyond the limit are kept before they are dropped.
  private static let slack = 256
  /// How many bytes of documents beyond the limit are kept, where memory is counted, before they are dropped.
  private static let slackBytes = 4 << 20

  let view: any OrderedView
  let indexes: [DocumentIndexRows]
  private let source: any DocumentSource
  private let target: DocumentTarget
  private let isLeftOut: (DocumentPath) -> Bool
  private let allowance: ReadAllowance?
  /// The fields that are kept; nil for all.
  private let kept: FieldSelection?
  /// How many documents are read at once at most.
  private let batch: Int
  private var documentsRead = 0
  private var documentsDecoded = 0
  /// The counted bytes that were added since documents were dropped.
  private var added = 0

  /// - Parameters:
  ///   - indexes: those of the tree that are ready.
  ///   - allowance: what may be kept; nil for everything.
  ///   - isLeftOut: whether the caller has a document in another state, since waiting writes change
  ///     it: such documents do not count for the limit.
  init(
    _ target: DocumentTarget, _ view: any OrderedView, _ indexes: [DocumentIndexRows],
    _ source: any DocumentSource, _ allowance: ReadAllowance? = nil,
    isLeftOut: @escaping (DocumentPath) -> Bool = { _ in false }
  ) {
    self.allowance = allowance
    kept = allowance?.fields.map { FieldSelection(target.comparedFields.union($0)) }
    batch = allowance == nil ? 256 : 16
    self.target = target
    self.view = view
    self.indexes = indexes
    self.source = source
    self.isLeftOut = isLeftOut
  }

  /// The documents that match, sorted, up to the limit.
  ///
  /// - Throws: `damaged`, naming a row, when its document is not what the row says.
  func find() throws(StoreError) -> FoundDocuments {
    let plan = DocumentPlanner.plan(target, indexes)
    let limit = target.limit ?? .max
    var found = FoundDocuments(access: access(plan), isSorted: !plan.isOrdered, hint: plan.hint)
    switch plan.access {
    case .whole(let first, let last, let isReversed):
      try source.walk(target, from: first, through: last, isReversed: isReversed) {
        (document) throws(StoreError) in
        documentsRead += 1
        if document != nil { documentsDecoded += 1 }
        if let document, !isLeftOut(document.path) { try add(document, to: &found.documents) }
        return !plan.isOrdered || found.documents.count < limit
      }
    case .parts(let parts):
      var streams = parts.map { DocumentStream($0, self) }
      if plan.isOrdered {
        try merge(&streams, limit, into: &found.documents)
      } else {
        try collect(&streams, into: &found.documents)
      }
      found.rowsRead = streams.reduce(0) { $0 + $1.rowCount }
    }
    if !plan.isOrdered { found.documents.sort { target.compare($0, $1) < 0 } }
    trim(&found.documents)
    found.documentsRead = documentsRead
    found.documentsDecoded = documentsDecoded
    return found
  }

  /// Adds a found document. Only a few more than the limit are kept.
  ///
  /// - Throws: `tooLarge` when no more may be kept.
  private func add(_ document: Document, to found: inout [Document]) throws(StoreError) {
    let document = kept.map(document.selecting) ?? document
    if let allowance {
      let bytes = document.memory
      if !allowance.claim(bytes) {
        sortAndTrim(&found)
        guard allowance.claim(bytes) else { throw ReadAllowance.exceeded }
      }
      added += bytes
    }
    found.append(document)
    guard let limit = target.limit,
      (found.count - Self.slack) / 2 >= limit || added >= Self.slackBytes
    else { return }
    sortAndTrim(&found)
  }

  private func sortAndTrim(_ found: inout [Document]) {
    added = 0
    guard let limit = target.limit, found.count > limit else { return }
    found.sort { target.compare($0, $1) < 0 }
    trim(&found)
  }

  /// Drops the documents beyond the limit.
  private func trim(_ found: inout [Document]) {
    guard let limit = target.limit, found.count > limit else { return }
    if let allowance {
      _ = allowance.claim(-found[limit...].reduce(0) { $0 + $1.memory })
    }
    found.removeSubrange(limit...)
  }

  /// Takes all documents of all streams, each once.
  private func collect(
    _ streams: inout [DocumentStream], into found: inout [Document]
  ) throws(StoreError) {
    var seen: Set<DocumentPath> = []
    for place in streams.indices {
      while let document = try streams[place].peek(batch) {
        streams[place].pass()
        if seen.insert(document.path).inserted { try add(document, to: &found) }
      }
    }
  }

  /// Takes the first of all streams until the limit is reached.
  private func merge(
    _ streams: inout [DocumentStream], _ limit: Int, into found: inout [Document]
  ) throws(StoreError) {
    while found.count < limit {
      var least: Document?
      for place in streams.indices {
        guard let document = try streams[place].peek(min(limit - found.count, batch)) else {
          continue
        }
        if least.map({ target.compare(document, $0) < 0 }) ?? true { least = document }
      }
      guard let least else { return }
      try add(least, to: &found)
      // Alternatives may share documents.
      for place in streams.indices
      where try streams[place].peek(batch)?.path == least.path { streams[place].pass() }
    }
  }

  private func access(_ plan: DocumentPlan) -> FoundDocuments.Access {
    guard case .parts(let parts) = plan.access else { return .whole }
    var groups: [[DocumentIndex]] = []
    for part in parts {
      let group: [DocumentIndex]
      switch part {
      case .key: continue
      case .rows(let scan): group = [indexes[scan.index].index]
      case .join(let scans): group = scans.map { indexes[$0.index].index }
      }
      if !groups.contains(group) { groups.append(group) }
    }
    return groups.isEmpty ? .names : .indexes(groups)
  }

  // MARK: Documents

  /// The documents of rows that match; those that the rows do not sort are sorted.
  func matching(
    _ rows: [DocumentIndexWalk.Row], of index: DocumentIndexRows
  ) throws(StoreError) -> [Document] {
    var found: [Document] = []
    var start = 0
    while start < rows.count {
      var end = start + 1
      while end < rows.count, rows[end].isTied(rows[start]) { end += 1 }
      if rows[start].entry.isCut {
        // Only the documents hold the full values, and so the order.
        found += try matching(
          rows[start..<end].map { ($0.entry.path, IndexRowReference($0, of: index)) }
        )
        .sorted { target.compare($0, $1) < 0 }
      } else {
        while end < rows.count, !rows[end].entry.isCut { end += 1 }
        found += try matching(
          rows[start..<end].map { ($0.entry.path, IndexRowReference($0, of: index)) })
      }
      start = end
    }
    return found
  }

  /// The documents of names that match, in the order of the names.
  func matching(
    _ named: [(path: DocumentPath, origin: IndexRowReference?)]
  ) throws(StoreError) -> [Document] {
    let named = named.filter { !isLeftOut($0.path) }
    let documents = try source.documents(named.map(\.path))
    let decoded = documents.count { $0 != nil }
    documentsRead += decoded
    documentsDecoded += decoded
    var found: [Document] = []
    for ((_, origin), document) in zip(named, documents) {
      if let origin {
        let isNamed =
          document.map {
            origin.rows.hasRow(origin.key, $0, valuesStart: origin.valuesStart)
          } ?? false
        guard isNamed else { throw Damage.error(Spaces.indexes, origin.key) }
      }
      if let document, target.matches(document) { found.append(document) }
    }
    return found
  }
}
