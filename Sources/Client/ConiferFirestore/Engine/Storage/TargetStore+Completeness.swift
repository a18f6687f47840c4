import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import ConiferWire

// The time as of which stored matches are complete. Queries are then answered from them and from
// documents that were read later. A query for all documents of its source is never answered so: its time, if it has one, is
// removed when its listener leaves.
extension TargetStore {
  /// As of when the server said what listeners of a target are about to be shown: never earlier than they were told
  /// before, also when no stream is open, unless the server's own time went back.
  ///
  /// - Parameter time: the time as of which the server has said all of the target; nil when it has not.
  func timeToTell(
    _ id: TargetID, _ time: ConiferDocument.Timestamp?
  ) -> ConiferDocument.Timestamp {
    guard let row = rows[id] else { return time ?? .zero }
    let told = max(row.readTime, time ?? .zero)
    rows[id]?.toldTime = told
    return told
  }

  /// The server's time went back: what listeners were told counts no longer.
  func forgetToldTimes() { for id in all { rows[id]?.toldTime = .zero } }

  /// Records that the stored matches of a query are complete as of a time. The time is stored now
  /// and then, and at release.
  ///
  /// - Parameter id: the query's target.
  func becameComplete(_ id: TargetID, at time: ConiferDocument.Timestamp) {
    guard let row = rows[id], !store.collectsEagerly, row.target.isSource,
      time > row.completeTime ?? .zero
    else { return }
    // One such query has a time all the same, if it is the first of a run: with its first time a storage learns how late
    // documents were read, for which it reads all that there are.
    if row.target.matchesAll, knowsReadTimes { return }
    rows[id]?.completeTime = time
    if time.isWorthStoring(since: row.storedCompleteTime),
      time.isWorthStoring(since: row.attemptedCompleteTime)
    {
      due.insert(id)
    }
  }

  /// Stores the times of complete matches that are due.
  func storeCompleteness() {
    guard !due.isEmpty else { return }
    let ids = due.sorted()
    due = []
    do throws(StoreError) {
      var edits: [TargetID: DocumentEdit] = [:]
      for id in ids {
        guard let row = rows[id] else { continue }
        rows[id]?.attemptedCompleteTime = row.completeTime
        edits[id] = try completenessEdit(row)
      }
      guard !edits.isEmpty else { return }
      try store.commit([.documents(store.tree, Array(edits.values))])
      knowsReadTimes = true
      for id in edits.keys {
        if let row = rows[id] { rows[id]?.storedCompleteTime = row.completeTime }
      }
    } catch {
      store.log("what the server said of queries is not kept", error)
    }
  }

  /// The edit for the time of a target's complete matches when nobody listens to it any more; nil when none is needed.
  func lastCompletenessEdit(_ row: Row) throws(StoreError) -> DocumentEdit? {
    guard row.target.matchesAll else { return try completenessEdit(row) }
    return row.storedCompleteTime.map { _ in .setMatchesVersion(row.query, nil) }
  }

  /// The edit that stores the time of a target's complete matches; nil when the time is stored
  /// already, or a waiting write may hide a match.
  func completenessEdit(_ row: Row) throws(StoreError) -> DocumentEdit? {
    guard row.completeTime != row.storedCompleteTime, let time = row.completeTime else {
      return nil
    }
    // A match that a waiting write hides may come back, and the server was not asked whether it
    // still matches.
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
