import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import ConiferWire

// As of when stored matches are whole, so that queries are answered from them and from what was read later.
extension TargetStore {
  /// A query shows all that the server says it gives as of a time: its stored matches are whole. That is stored now and
  /// then, and at release.
  ///
  /// - Parameter id: the query's target.
  func becameWhole(_ id: TargetID, at time: ConiferDocument.Timestamp) {
    guard let row = rows[id], !store.isEager, row.target.isSource, time > row.whole ?? .zero
    else { return }
    rows[id]?.whole = time
    if time.isWorthStoring(since: row.storedWhole), time.isWorthStoring(since: row.wholeTried) {
      due.insert(id)
    }
  }

  /// Stores as of when matches are whole, of all queries of which that is due.
  func storeWholeness() {
    guard !due.isEmpty else { return }
    let ids = due.sorted()
    due = []
    do throws(StoreError) {
      var edits: [TargetID: DocumentEdit] = [:]
      for id in ids {
        guard let row = rows[id] else { continue }
        rows[id]?.wholeTried = row.whole
        edits[id] = try wholeness(row)
      }
      guard !edits.isEmpty else { return }
      try store.commit([.documents(store.tree, Array(edits.values))])
      for id in edits.keys { if let row = rows[id] { rows[id]?.storedWhole = row.whole } }
    } catch {
      store.log("what the server said of queries is not kept", error)
    }
  }

  /// The edit that says as of when a target's matches are whole; nil when it would say nothing new, or what is not so.
  func wholeness(_ row: Row) throws(StoreError) -> DocumentEdit? {
    guard row.whole != row.storedWhole, let time = row.whole else { return nil }
    // What a waiting write hides may come back, and nobody has asked the server whether it matches.
    let isHidden = try store.read { (view, lane) throws(StoreError) in
      guard try view.totals(lane).pending > 0 else { return false }
      guard case .collection(let collection) = row.target.source else { return true }
      return try !view.pendingWrites(lane, touching: DocumentKey.treePath(collection)).isEmpty
    }
    return isHidden
      ? nil : .setMatchesVersion(row.query, MatchesVersion(row.target.source, at: time))
  }
}

extension DocumentTarget {
  /// Whether it looks for documents in a collection or a group, and so may be answered from its matches.
  fileprivate var isSource: Bool {
    switch source {
    case .collection, .group: true
    case .document: false
    }
  }
}
