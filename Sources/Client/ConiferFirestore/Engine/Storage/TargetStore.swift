import ConiferDocument
import ConiferDocumentSync
import ConiferKeyValue
import ConiferStorage
import ConiferWire

/// The tracked queries of the targets that are listened to: their numbers, what the server said of them, and how much
/// of that is stored.
final class TargetStore {
  /// A target that is listened to.
  struct Row {
    let target: DocumentTarget
    var query: QueryID
    /// The record as it is known.
    var record: TargetRecord
    /// The record as it is stored.
    var stored: TargetRecord
    /// The server time as of which the stored matches are complete; nil if they are not.
    var completeTime: ConiferDocument.Timestamp?
    /// The value of this time in the store.
    var storedCompleteTime: ConiferDocument.Timestamp?
    /// The value of this time that was last tried to be stored.
    var attemptedCompleteTime: ConiferDocument.Timestamp?
    /// The time as of which listeners were told that the server said what they show. It is not stored.
    var toldTime = ConiferDocument.Timestamp.zero

    /// The latest time as of which the server is known to have said what is shown of the target.
    var readTime: ConiferDocument.Timestamp { max(record.version, toldTime) }
  }

  /// What is stored of a target.
  struct Found {
    let id: QueryID
    var record = TargetRecord()
    var completeTime: ConiferDocument.Timestamp?
  }

  var rows: [TargetID: Row] = [:]
  private var numbers: [DocumentTarget: TargetID] = [:]
  /// The tracked queries of targets that are about to be opened.
  private var prepared: [DocumentTarget: Found] = [:]
  /// The targets for which the time of complete matches is to be stored.
  var due: Set<TargetID> = []
  /// Whether the storage had such a time in this run, so that it knows how late documents were read.
  var knowsReadTimes = false
  let store: DocumentStore

  init(_ store: DocumentStore) { self.store = store }

  /// What is known of a target that is listened to.
  subscript(id: TargetID) -> Row? { rows[id] }
  /// The number of a target that is listened to.
  func number(of target: DocumentTarget) -> TargetID? { numbers[target] }
  /// The numbers of all targets that are listened to.
  var all: [TargetID] { rows.keys.sorted() }

  /// The number on the wire of a tracked query: even, and never given twice.
  static func number(of query: QueryID) throws(StoreError) -> TargetID {
    guard query.rawValue <= UInt64(TargetID.max / 2) else {
      throw StoreError(.full, "The store has no number for another query. Clear its data.")
    }
    return TargetID(query.rawValue) * 2
  }

  // MARK: Begin and end

  /// A target is listened to from now on: gives its number.
  ///
  /// - Throws: when it can be neither read nor stored.
  func open(_ target: DocumentTarget) throws(StoreError) -> TargetID {
    if let known = numbers[target] { return known }
    if let found = prepared.removeValue(forKey: target) { return try open(target, found) }
    let found = try find(target)
    let (id, isNew) = try activate(found?.id, target)
    guard let found, !isNew else { return try open(target, Found(id: id)) }
    return try open(target, found)
  }

  private func open(
    _ target: DocumentTarget, _ found: Found
  ) throws(StoreError) -> TargetID {
    let number = try Self.number(of: found.id)
    if found.completeTime != nil { knowsReadTimes = true }
    numbers[target] = number
    rows[number] = Row(
      target: target, query: found.id, record: found.record, stored: found.record,
      completeTime: found.completeTime, storedCompleteTime: found.completeTime)
    return number
  }

  /// Reads the tracked queries of targets that are about to be opened, and stores those of targets that have none, in one
  /// commit.
  ///
  /// What cannot be read or stored is left to `open`, which says why.
  func prepare(_ targets: some Sequence<DocumentTarget>) {
    do throws(StoreError) {
      var new: [DocumentTarget] = []
      var seen: Set<DocumentTarget> = []
      for target in targets where numbers[target] == nil && seen.insert(target).inserted {
        guard let found = try find(target) else {
          new.append(target)
          continue
        }
        if store.setActive(true, found.id) { prepared[target] = found }
      }
      guard !new.isEmpty else { return }
      let queries = new.map { StorageEdit.saveQuery(TrackedQuery(store.sharedLane, $0)) }
      for (target, id) in zip(new, try store.commit(queries).queries) {
        if store.setActive(true, id) { prepared[target] = Found(id: id) }
      }
    } catch { store.log("queries are stored one by one", error) }
  }

  /// Targets that were prepared and not opened are listened to by nobody.
  func endPreparing() {
    for found in prepared.values { _ = store.setActive(false, found.id) }
    prepared = [:]
  }

  /// Marks the tracked query of a target as listened to; one that is not stored, or is just being evicted, is stored anew.
  func activate(
    _ known: QueryID?, _ target: DocumentTarget
  ) throws(StoreError) -> (id: QueryID, isNew: Bool) {
    if let known, store.setActive(true, known) { return (known, false) }
    let new = try save(TrackedQuery(store.sharedLane, target))
    _ = store.setActive(true, new)
    return (new, true)
  }

  func save(_ query: TrackedQuery) throws(StoreError) -> QueryID {
    guard let id = try store.commit([.saveQuery(query)]).queries.first else {
      throw StoreError(.io, "The store gave a query no number. Check it with conifer verify.")
    }
    return id
  }

  /// What is stored of a target, listened to or not.
  func find(_ target: DocumentTarget) throws(StoreError) -> Found? {
    let query = TrackedQuery(store.sharedLane, target)
    return try store.read { (view, _) throws(StoreError) in
      guard let found = try view.trackedQuery(query.tree, query.path, query.parameters) else {
        return nil
      }
      let version = try view.matchesVersion(query.tree, found.id)
      return Found(
        id: found.id, record: TargetRecord(found.query), completeTime: version?.time)
    }
  }

  /// What a store has of a query whose target is open.
  func stored(_ query: DocumentQuery, _ id: TargetID) throws(StoreError) -> (
    ConiferDocumentSync.StoredQuery, DocumentAnswer
  ) {
    let row = rows[id]
    // Without a resume token the server sends all matches, and does not say which documents left
    // meanwhile.
    let resumed = row.flatMap { $0.record.token.isEmpty && $0.record.version == .zero ? nil : $0 }
    let (answer, matched) = try store.read { (view, lane) throws(StoreError) in
      (
        try view.query(lane, query, tracked: row?.query),
        try resumed.map { (row) throws(StoreError) in try view.matches(lane.tree, row.query) } ?? []
      )
    }
    let stored = ConiferDocumentSync.StoredQuery(
      documents: answer.documents, matched: MatchedPaths(matched),
      resumeToken: row?.record.token ?? [], version: row?.record.version ?? .zero)
    return (stored, answer)
  }

  /// Makes a target that nobody listens to begin with what a bundle has of it.
  ///
  /// - Parameters:
  ///   - time: as of when the bundle has the target's documents.
  ///   - matches: the paths of these documents.
  /// - Returns: the edits that store it; nil when the server has said as much, or somebody listens.
  func seed(
    _ target: DocumentTarget, _ time: ConiferDocument.Timestamp, _ matches: [DocumentPath]
  ) throws(StoreError) -> (save: StorageEdit, matches: DocumentEdit)? {
    guard numbers[target] == nil else { return nil }
    let found = try find(target)
    if let found, found.record.version >= time { return nil }
    let id = if let found { found.id } else { try save(TrackedQuery(store.sharedLane, target)) }
    var record = TargetRecord()
    record.version = time
    record.isComplete = true
    let query = TrackedQuery(
      store.sharedLane, target, isComplete: true, resumeToken: record.bytes)
    return (.saveQuery(query), .setMatches(id, matches))
  }

  /// Stores what is known of a target that nobody listens to any more, or forgets it in a cache
  /// that keeps only what is used.
  func release(_ target: DocumentTarget) {
    guard let number = numbers.removeValue(forKey: target),
      let row = rows.removeValue(forKey: number)
    else { return }
    do throws(StoreError) {
      if store.collectsEagerly {
        try store.commit([.removeQuery(store.tree, row.query)])
      } else {
        try store.commit(edits(row))
      }
    } catch {
      // When somebody listens again, the target begins with what was stored before.
      store.log("what the server said of a query is not kept", error)
    }
    _ = store.setActive(false, row.query)
  }

  /// The engine ends: the times of complete matches are stored. Resume tokens are stored now and
  /// then and at release, as in the vendor's SDKs.
  func end() {
    due = Set(rows.keys)
    storeCompleteness()
    (rows, numbers) = ([:], [:])
  }

  // MARK: What the server says

  /// The server refused targets: what is known of them is stored before their listeners are told.
  ///
  /// - Throws: when that cannot be stored; the server is to be asked again then.
  func refused(_ ids: [TargetID]) throws(StoreError) {
    let edits = ids.compactMap { rows[$0].map(save) }
    if !edits.isEmpty { try store.commit(edits) }
    for id in ids { if let row = rows[id] { rows[id]?.stored = row.record } }
  }

  /// The edits that store what an event says of the targets that are listened to, and the rows as they are then.
  func edits(
    for event: RemoteEvent
  ) -> (edits: [StorageEdit], documents: [DocumentEdit], rows: [TargetID: Row]) {
    var edits: [StorageEdit] = []
    var documents: [DocumentEdit] = []
    var changed: [TargetID: Row] = [:]
    for (id, change) in event.targets.sorted(by: { $0.key < $1.key }) {
      guard var row = rows[id] else { continue }
      if !change.added.isEmpty || !change.removed.isEmpty {
        documents.append(
          .updateMatches(row.query, added: change.added, removed: change.removed))
      }
      // The stored time is removed too, because a document that left may be stored as it was.
      if !change.removed.isEmpty {
        row.completeTime = nil
        row.storedCompleteTime = nil
      }
      if event.mismatches[id] != nil {
        if row.storedCompleteTime != nil { documents.append(.setMatchesVersion(row.query, nil)) }
        row.completeTime = nil
        row.storedCompleteTime = nil
        row.record = TargetRecord()
        row.record.isComplete = row.stored.isComplete
      } else if !change.resumeToken.isEmpty {
        row.record.token = change.resumeToken
        row.record.version = event.version
      }
      if change.isCurrent { row.record.isComplete = true }
      let hasChanges = !change.added.isEmpty || !change.modified.isEmpty || !change.removed.isEmpty
      if row.record != row.stored, hasChanges || row.record.isDue(instead: row.stored) {
        edits.append(save(row))
        row.stored = row.record
      }
      changed[id] = row
    }
    return (edits, documents, changed)
  }

  /// The store holds the edits.
  func merge(_ changed: [TargetID: Row]) { rows.merge(changed) { $1 } }

  func save(_ row: Row) -> StorageEdit {
    .saveQuery(
      TrackedQuery(
        store.sharedLane, row.target, isComplete: row.record.isComplete,
        resumeToken: row.record.bytes))
  }

  private func edits(_ row: Row) throws(StoreError) -> [StorageEdit] {
    let completeness = try lastCompletenessEdit(row)
    return (row.record == row.stored ? [] : [save(row)])
      + (completeness.map { [.documents(store.tree, [$0])] } ?? [])
  }
}
