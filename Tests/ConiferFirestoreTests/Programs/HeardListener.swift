import ConiferDocument
import ConiferDocumentSync
import ConiferFirestore
import ConiferWire
import Synchronization

/// What a listener of a program has heard, and what of it cannot be.
final class HeardListener: Sendable {
  struct State: Sendable {
    var last: ViewSnapshot?
    var error: FirestoreError?
    /// What it heard of the server alone since that was last taken: no waiting writes, nothing older.
    var confirmed: [[Document]] = []
    var complaints: [String] = []
    /// Whether the app removed it, and the client has done with that.
    var isRemoved = false
  }

  let id: ListenerID
  let query: DocumentQuery
  let options: ListenOptions
  /// Whether its client's disk has failed since it began.
  private let diskFailed: @Sendable () -> Bool
  private let state = Mutex(State())

  init(
    _ id: ListenerID, _ query: DocumentQuery, _ options: ListenOptions,
    diskFailed: @escaping @Sendable () -> Bool
  ) {
    self.id = id
    self.query = query
    self.options = options
    self.diskFailed = diskFailed
  }

  var now: State { state.withLock { $0 } }

  /// Whether the server is asked for its query.
  var asksServer: Bool { options.source == .default }

  /// Nothing may be told any more.
  func end() { state.withLock { $0.isRemoved = true } }

  /// Takes what it heard of the server alone.
  func takeConfirmed() -> [[Document]] {
    state.withLock { state in
      defer { state.confirmed = [] }
      return state.confirmed
    }
  }

  func hear(_ result: Result<ListenEvent, FirestoreError>) {
    state.withLock { state in
      if state.error != nil { state.complaints.append("Something was told behind the error.") }
      if state.isRemoved { state.complaints.append("Something was told behind the removal.") }
      switch result {
      case .failure(let error):
        state.error = error
        if error.code != .unavailable || !diskFailed() {
          state.complaints.append("It ended, and the disk had not failed: \(error)")
        }
      case .success(let event): take(event.snapshot, &state)
      }
    }
  }

  private func take(_ snapshot: ViewSnapshot, _ state: inout State) {
    let documents = Array(snapshot.documents)
    let target = query.target
    for document in documents where !target.matches(document) {
      state.complaints.append("\(document.path) does not match.")
    }
    let places = query.limit?.side == .last ? documents.reversed() : documents
    for (a, b) in zip(places, places.dropFirst()) where target.compare(a, b) >= 0 {
      state.complaints.append("\(a.path) and \(b.path) are in the wrong order.")
    }
    if let limit = target.limit, documents.count > limit {
      state.complaints.append("\(documents.count) documents are more than \(limit).")
    }
    check(snapshot, documents, &state)
    state.last = snapshot
    if !snapshot.isFromCache, !snapshot.hasPendingWrites { state.confirmed.append(documents) }
  }

  /// The changes must lead from what was told before to what is told now.
  private func check(_ snapshot: ViewSnapshot, _ documents: [Document], _ state: inout State) {
    let before = state.last.map { Array($0.documents) } ?? []
    guard before.map(\.path) == snapshot.oldDocuments.map(\.path) else {
      state.complaints.append("The documents before are not those that were told.")
      return
    }
    var replayed = before
    guard
      let changes = try? snapshot.indexedChanges(includesMetadata: options.includesMetadataChanges)
    else {
      state.complaints.append("The changes do not belong to the documents.")
      return
    }
    if !options.includesMetadataChanges, state.last != nil, changes.isEmpty {
      state.complaints.append("It was told of metadata alone.")
    }
    for change in changes {
      if let old = change.oldIndex {
        guard replayed.indices.contains(old), replayed[old].path == change.document.path else {
          state.complaints.append("A change takes \(change.document.path) from a wrong place.")
          return
        }
        replayed.remove(at: old)
      }
      if let new = change.newIndex {
        guard new <= replayed.count else {
          state.complaints.append("A change puts \(change.document.path) at a wrong place.")
          return
        }
        replayed.insert(change.document, at: new)
      }
    }
    if replayed.map(\.path) != documents.map(\.path)
      || replayed.map(\.fields) != documents.map(\.fields)
    {
      state.complaints.append(
        "The changes lead to \(replayed.map(\.path)), not to \(documents.map(\.path)).")
    }
  }
}
