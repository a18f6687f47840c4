/// How a listener wants to be notified.
package struct ListenOptions: Sendable, Hashable {
  /// Where a listener's documents come from.
  package enum Source: Sendable, Hashable {
    /// The store first, and then the server.
    case `default`
    /// The store alone.
    case cache
  }

  /// Whether the listener also gets events that change only metadata: the source of the documents,
  /// or whether writes wait.
  package var includesMetadataChanges: Bool
  /// Whether the first event waits for the server, unless that cannot be reached.
  package var waitsForSyncWhenOnline: Bool
  /// Where documents come from.
  package var source: Source

  /// Options, as most listeners have them unless others are given.
  package init(
    includesMetadataChanges: Bool = false, waitsForSyncWhenOnline: Bool = false,
    source: Source = .default
  ) {
    self.includesMetadataChanges = includesMetadataChanges
    self.waitsForSyncWhenOnline = waitsForSyncWhenOnline
    self.source = source
  }
}

/// Decides which snapshots of a view one listener receives.
package struct ListenerGate: Sendable {
  private enum State: Sendable {
    /// The listener has received nothing yet; the newest snapshot, if there is one, waits here.
    case closed(ViewSnapshot?)
    /// The first event was told; the newest snapshot had pending writes or not.
    case open(hadPendingWrites: Bool)
  }

  private let options: ListenOptions
  private var online: OnlineState
  private var state = State.closed(nil)

  /// A listener that was told nothing yet.
  package init(_ options: ListenOptions, _ online: OnlineState) {
    self.options = options
    self.online = online
  }

  /// The view has a new snapshot, or it has one when the listener begins.
  ///
  /// - Returns: what the listener is told, if anything.
  package mutating func take(_ snapshot: ViewSnapshot) -> ViewSnapshot? {
    let told = options.includesMetadataChanges ? snapshot : snapshot.withoutMetadataChanges
    switch state {
    case .closed: return open(with: told)
    case .open(let hadPendingWrites):
      state = .open(hadPendingWrites: told.hasPendingWrites)
      let isNews = told.syncStateChanged || hadPendingWrites != told.hasPendingWrites
      return !told.changes.isEmpty || isNews && options.includesMetadataChanges ? told : nil
    }
  }

  /// Whether the server can be reached has changed.
  ///
  /// - Returns: the first event, if it waited for that.
  package mutating func onlineChanged(to online: OnlineState) -> ViewSnapshot? {
    self.online = online
    guard case .closed(let waiting?) = state else { return nil }
    return open(with: waiting)
  }

  /// Tells the first event, or lets it wait.
  private mutating func open(with snapshot: ViewSnapshot) -> ViewSnapshot? {
    guard mayBeginWith(snapshot) else {
      state = .closed(snapshot)
      return nil
    }
    state = .open(hadPendingWrites: snapshot.hasPendingWrites)
    return snapshot.initial
  }

  private func mayBeginWith(_ snapshot: ViewSnapshot) -> Bool {
    if !snapshot.isFromCache || options.source == .cache || online == .offline { return true }
    if options.waitsForSyncWhenOnline { return false }
    return !snapshot.documents.isEmpty || snapshot.hasCachedResults
  }
}
