import ConiferKeyValue
import ConiferStorage

/// The edits of a commit that was reported as failed, and how to find out whether the store made it
/// nevertheless. A store makes a commit whole or not at all.
struct CommitAttempt {
  /// Whether the store has a commit.
  enum Finding {
    /// All of it, with the numbers that it gave.
    case made(writes: [WriteID], queries: [QueryID])
    /// Nothing.
    case notCommitted
  }

  let edits: [StorageEdit]
  /// The newest write of each lane that the edits queue writes in, as it was before.
  let newest: [Lane: WriteID?]

  /// An edit whose effect proves that the commit was made, because nothing else has that effect;
  /// nil when there is none.
  private var evidence: StorageEdit? {
    let unique = edits.first { edit in
      switch edit {
      case .enqueue, .finish: true
      default: false
      }
    }
    if let unique { return unique }
    let others = edits.filter { if case .setMetadata = $0 { false } else { true } }
    guard others.count == 1, let edit = others.first else { return nil }
    switch edit {
    // Their effects may have been there before, which would prove nothing about other edits.
    case .setState(_, _, .queued) where edits.count == 1: return edit
    // Metadata can be compared too.
    case .purge: return edit
    default: return nil
    }
  }

  /// Whether it can be found out if the commit was made.
  var isRecognizable: Bool { evidence != nil }

  /// Whether the app asked for the commit, and waits until it is known whether it was made. For
  /// answers of the server the app is told at once, and the edits are stored again later.
  var isAppRequest: Bool {
    switch evidence {
    case nil, .finish(_, _, .acknowledged), .finish(_, _, .superseded): false
    default: true
    }
  }

  /// Looks for the commit in the store.
  ///
  /// - Throws: what the store says; nothing is known then.
  func look(in view: any StorageView) throws(StoreError) -> Finding {
    guard let evidence else { return .notCommitted }
    switch evidence {
    case .enqueue:
      for (lane, payloads) in payloads where try queued(lane, view).map(\.payload) != payloads {
        return .notCommitted
      }
    case .finish(let lane, let id, let outcome):
      guard try view.finishedWrite(lane, id)?.outcome == outcome else { return .notCommitted }
    case .setState(let lane, let id, let state):
      guard try view.entry(lane, id)?.state == state else { return .notCommitted }
    case .purge(let lane):
      let totals = try view.totals(lane)
      guard totals.pending == 0, totals.rejected == 0 else { return .notCommitted }
      for case .setMetadata(let tree, let name, let bytes) in edits
      where try view.metadata(tree, name) != bytes {
        return .notCommitted
      }
    default: return .notCommitted
    }
    return try numbers(view)
  }

  /// What the edits queue in each lane.
  private var payloads: [Lane: [WritePayload]] {
    edits.reduce(into: [:]) { payloads, edit in
      if case .enqueue(let lane, let payload) = edit { payloads[lane, default: []].append(payload) }
    }
  }

  /// The entries of a lane after the newest one before the commit, up to the number that the edits
  /// may have queued.
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
        // A query that was evicted meanwhile has no number; no query has the number 0.
        queries.append(stored?.id ?? QueryID(rawValue: 0))
      default: break
      }
    }
    return .made(writes: writes, queries: queries)
  }
}
