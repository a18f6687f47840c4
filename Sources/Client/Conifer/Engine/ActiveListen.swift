import ConiferKeyValue
import ConiferStorage
import ConiferSync

/// A listen that the server was asked for, and what the store has of it: it is told what comes, and says what is to be
/// committed.
struct ActiveListen {
  /// Whether the store has the record of the listen's query.
  enum Record {
    /// There is no store.
    case none
    /// Not yet, or it could not be stored. A plain one is stored with its first data, so that a listen
    /// costs no commit of its own.
    case new(TrackedQuery)
    /// It is stored with the next commit, which gives it its number: the record as it will be, and as it was before.
    case numbering(TrackedQuery, before: TrackedQuery)
    /// It is stored.
    case stored(StoredQuery)
  }

  /// How much of the listen's data the store has, or will have with the commits that wait.
  enum Coverage {
    /// What was cached before, with what came since; the server has not said that this is all.
    case unconfirmed
    /// All, since the listen began; then the record says that it is complete.
    case complete
    /// Less than the view has, as a commit failed or its record has no number yet: all that the view has is stored
    /// next. The flag tells whether that is all the listen's data.
    case lagging(isComplete: Bool)
  }

  /// The edits that are to be committed for a listen.
  enum Commit {
    case data([StorageEdit])
    /// Data with which the query is complete, and the record as it was before.
    case completion([StorageEdit], before: StoredQuery)
    /// The record of the query behind its first data, if it has any by now; the tree that it is in.
    case record([StorageEdit], TreeID)

    var edits: [StorageEdit] {
      switch self {
      case .data(let edits), .completion(let edits, _), .record(let edits, _): edits
      }
    }
  }

  let listen: Listen
  private var record: Record
  private(set) var coverage = Coverage.unconfirmed
  /// The hash of its data when the server was last asked, so that it is not computed again.
  var hash: ListenHash?

  init(_ listen: Listen, _ record: Record) {
    self.listen = listen
    self.record = record
  }

  /// The stored record of its query; nil when there is none.
  var stored: StoredQuery? { if case .stored(let stored) = record { stored } else { nil } }

  /// Whether the record says that all its data is stored, or will when it is committed.
  var isRecordComplete: Bool {
    switch record {
    case .none: false
    case .new(let query), .numbering(let query, _): query.isComplete
    case .stored(let stored): stored.query.isComplete
    }
  }

  /// Whether the store lacks some of what the view has.
  var isLagging: Bool { if case .lagging = coverage { true } else { false } }

  /// Begins the listen. A filtered one commits its record first, because the keys of its query are
  /// stored under the number that the record is given. Data that comes meanwhile is stored after
  /// that.
  mutating func begin() -> Commit? {
    guard case .new(let query) = record, !query.isDefault else { return nil }
    return save(query, before: query, [])
  }

  /// Takes in data of the listen.
  ///
  /// - Parameters:
  ///   - edits: what stores it; all that the view has, if the store lags behind.
  ///   - isComplete: whether the listen has all its data now.
  ///   - outdated: edits for what is out of date when a plain listen has all its data.
  mutating func store(
    _ edits: [StorageEdit], isComplete: Bool, _ outdated: () -> [StorageEdit]
  ) -> Commit? {
    let isComplete = isComplete || self.isComplete && isLagging
    if isComplete { coverage = isLagging ? .lagging(isComplete: true) : .complete }
    switch record {
    case .none: return nil
    case .new(let query) where !query.isDefault:
      markLagging()
      return begin()
    case .new(let query):
      markCaughtUp()
      var complete = query
      complete.isComplete = query.isComplete || isComplete
      return save(complete, before: query, isComplete ? edits + outdated() : edits)
    case .numbering(let query, _):
      // The first data may still fail to be stored, so the record must not be marked complete here.
      guard query.isDefault, query.isComplete || !isComplete else {
        markLagging()
        return nil
      }
      return edits.isEmpty ? nil : .data(edits)
    case .stored(let stored):
      var edits = isComplete && stored.query.isDefault ? edits + outdated() : edits
      if isComplete && !stored.query.isComplete {
        var query = stored.query
        query.isComplete = true
        edits.append(.saveQuery(query))
        record = .stored(StoredQuery(id: stored.id, query: query))
        markCaughtUp()
        return .completion(edits, before: stored)
      }
      guard !edits.isEmpty else { return nil }
      markCaughtUp()
      return .data(edits)
    }
  }

  private mutating func save(
    _ query: TrackedQuery, before: TrackedQuery, _ edits: [StorageEdit]
  ) -> Commit {
    record = .numbering(query, before: before)
    return .record(edits + [.saveQuery(query)], query.tree)
  }

  /// The record was committed under a number. Nil means that the query is being evicted; the record
  /// is new again.
  mutating func numbered(_ id: QueryID?) {
    guard case .numbering(let query, let before) = record else { return }
    if let id {
      record = .stored(StoredQuery(id: id, query: query))
    } else {
      record = .new(before)
      markLagging()
    }
  }

  /// A commit of the listen failed.
  mutating func failed(_ commit: Commit) {
    markLagging()
    switch commit {
    case .data: break
    case .completion(_, let before): record = .stored(before)
    case .record: if case .numbering(_, let before) = record { record = .new(before) }
    }
  }

  /// Marks the record as incomplete until all data of the listen is stored: the data that was
  /// cached before the listen began may no longer be complete.
  mutating func doubt() {
    guard case .stored(let stored) = record, stored.query.isComplete, !hasStoredAll else { return }
    var query = stored.query
    query.isComplete = false
    record = .stored(StoredQuery(id: stored.id, query: query))
  }

  /// Whether the store has all its data, or will have with the commits that wait.
  var hasStoredAll: Bool { if case .complete = coverage { true } else { false } }

  private var isComplete: Bool {
    switch coverage {
    case .unconfirmed: false
    case .complete: true
    case .lagging(let isComplete): isComplete
    }
  }

  /// The store lacks some of what the view has.
  mutating func markLagging() { coverage = .lagging(isComplete: isComplete) }

  private mutating func markCaughtUp() { coverage = isComplete ? .complete : .unconfirmed }
}
