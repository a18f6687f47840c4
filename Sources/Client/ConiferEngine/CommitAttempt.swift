import ConiferKeyValue
import ConiferStorage

/// A commit that was reported as failed, as seen by what the store has: the store may have made it all the same, whole or
/// not at all.
struct CommitAttempt {
  /// What the store has of a commit.
  enum Finding {
    /// All of it, with the numbers that it gave.
    case made(writes: [WriteID], queries: [QueryID])
    /// Nothing.
    case notMade
  }

  let edits: [StorageEdit]
  /// The newest write of each lane that the edits queue writes in, as it was before.
  let newest: [Lane: WriteID?]

  /// The edit by which the commit can be recognized: nothing else makes what it makes. Nil when there is none.
  private var evidence: StorageEdit? {
    let unique = edits.first { edit in
      switch edit {
      case .enqueue, .finish: true
      default: false
      }
    }
    if let unique { return unique }
    guard edits.count == 1, let edit = edits.first else { return nil }
    switch edit {
    // What they make may be there before, which says nothing of other edits.
    case .setState(_, _, .queued), .purge: return edit
    default: return nil
    }
  }

  /// Whether it can be found out if the commit was made.
  var isRecognizable: Bool { evidence != nil }

  /// Whether the app asked for it, and is told only what is known. How the server answered a write is told at once, and
  /// stored again.
  var isAsked: Bool {
    switch evidence {
    case nil, .finish(_, _, .acknowledged), .finish(_, _, .superseded): false
    default: true
    }
  }

  /// Looks for the commit in the store.
  ///
  /// - Throws: what the store says; nothing is known then.
  func look(in view: any StorageView) throws(StoreError) -> Finding {
    guard let evidence else { return .notMade }
    switch evidence {
    case .enqueue:
      for (lane, payloads) in payloads where try queued(lane, view).map(\.payload) != payloads {
        return .notMade
      }
    case .finish(let lane, let id, let outcome):
      guard try view.finishedWrite(lane, id)?.outcome == outcome else { return .notMade }
    case .setState(let lane, let id, let state):
      guard try view.entry(lane, id)?.state == state else { return .notMade }
    case .purge(let lane):
      let totals = try view.totals(lane)
      guard totals.pending == 0, totals.rejected == 0 else { return .notMade }
    default: return .notMade
    }
    return try numbers(view)
  }

  /// What the edits queue in each lane.
  private var payloads: [Lane: [WritePayload]] {
    edits.reduce(into: [:]) { payloads, edit in
      if case .enqueue(let lane, let payload) = edit { payloads[lane, default: []].append(payload) }
    }
  }

  /// What stands in a lane behind the writes of before, as far as the edits may have queued it.
  private func queued(_ lane: Lane, _ view: any StorageView) throws(StoreError) -> [QueueEntry] {
    try view.entries(lane, after: newest[lane] ?? nil, limit: payloads[lane]?.count ?? 0)
  }

  /// The numbers that the commit gave.
  private func numbers(_ view: any StorageView) throws(StoreError) -> Finding {
    var entries: [Lane: ArraySlice<QueueEntry>] = [:]
    for lane in payloads.keys { entries[lane] = try queued(lane, view)[...] }
    var (writes, queries): ([WriteID], [QueryID]) = ([], [])
    for edit in edits {
      switch edit {
      case .enqueue(let lane, _):
        if let entry = entries[lane]?.popFirst() { writes.append(entry.id) }
      case .saveQuery(let query):
        let stored = try view.trackedQuery(query.tree, query.path, query.parameters)
        // One that was evicted since has no number: no query has this one.
        queries.append(stored?.id ?? QueryID(rawValue: 0))
      default: break
      }
    }
    return .made(writes: writes, queries: queries)
  }
}
