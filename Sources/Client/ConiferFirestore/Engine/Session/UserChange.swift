import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferStorage

/// What follows when another user is signed in: the streams begin anew with that user's token, and listeners see that
/// user's writes.
struct UserChange {
  let store: DocumentStore
  let user: SignedInUser
  let listening: Listening
  let writes: DocumentWrites
  let sending: WriteSending
  let pinned: PinnedQueries
  let network: NetworkUse
  let recovery: StorageRecovery

  /// Another user is signed in; changes that cannot be stored are done later, one after the other.
  func begin(_ token: AuthToken?) {
    let isDone = recovery.attempt { () throws(StoreError) in
      try network.pause { () throws(StoreError) in
        try show(token?.identity ?? "")
        user.shows(token)
      }
    }
    if !isDone { user.changeIsDeferred() }
  }

  /// Another process may have changed the storage while it was suspended, and the network was not used: what is known
  /// of it is read again.
  ///
  /// - Throws: why it cannot be read; then this is to be done again.
  func storeChanged() throws(DatabaseError) {
    guard let lane = store.lane else { return }
    do throws(StoreError) {
      try writes.storeChanged()
      let token = try store.read { (view, _) throws(StoreError) in
        try view.metadata(lane.tree, MetadataName.stream(lane.identity)) ?? []
      }
      sending.userChanged(token: token)
      listening.changed(try written(lane, lane), .user)
      try listening.storeChanged()
    } catch {
      throw DatabaseError(error, "What another process has stored could not be read")
    }
  }

  private func show(_ identity: String) throws(StoreError) {
    guard let old = store.lane else { return }
    let new = Lane(tree: old.tree, identity: identity)
    let shown = try written(old, new)
    let token = try store.read { (view, _) throws(StoreError) in
      try view.metadata(new.tree, MetadataName.stream(identity)) ?? []
    }
    try user.willShow(identity)
    store.engine.show(new)
    sending.userChanged(token: token)
    writes.waiters.userChanged()
    listening.changed(shown, .user)
    pinned.userChanged()
  }

  /// The documents that listeners cover and that have waiting writes of either user, or did until the server accepted
  /// them, as the new user sees them.
  private func written(_ old: Lane, _ new: Lane) throws(StoreError) -> ShownDocuments {
    let sources = listening.listens.listenedSources
    let isAnywhere = sources.contains { $0.collection == nil }
    let collections: [CollectionPath?] =
      isAnywhere ? [nil] : Set(sources.compactMap(\.collection)).sorted()
    return try store.read { (view, _) throws(StoreError) in
      // Views show as waiting what the server has accepted and not sent back yet.
      var paths = listening.listens.pendingPaths
      for lane in [old, new] {
        for collection in collections {
          paths.formUnion(try view.overlaidPaths(lane, in: collection))
        }
      }
      return try view.shown(paths.sorted(), to: new)
    }
  }
}

extension DocumentQuery.Source {
  /// The collection that it looks in; nil for a group.
  fileprivate var collection: CollectionPath? {
    switch self {
    case .collection(let collection): collection
    case .document(let path): path.collection
    case .group: nil
    }
  }
}
