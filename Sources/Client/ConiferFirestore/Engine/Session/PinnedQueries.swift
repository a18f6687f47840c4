import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import Logging

/// The queries that the app wants kept in sync: they are pinned in the store, and listened to by the engine itself from
/// the start of each run on.
final class PinnedQueries {
  private enum State {
    case listening(ListenerID)
    /// The storage failed: it is tried again.
    case failed
    /// The listener has ended: the server does not let this user listen, or the storage will never take what the listen
    /// needs.
    case ended
  }

  private var pinned: [DocumentTarget: (query: DocumentQuery, state: State)] = [:]
  /// Queries whose change could not be stored. The app's next call stores it.
  private var unstored: Set<DocumentTarget> = []
  /// Whether what was kept in earlier runs is still to be read, as the storage failed.
  private var isUnread = false
  /// When that, and the listens that failed, are tried again. The network is used meanwhile: others need it.
  private var retry = Retry()
  private let store: DocumentStore
  private let listening: Listening
  private let clock: any EngineClock
  private let logger: Logger

  init(_ store: DocumentStore, _ listening: Listening, _ setup: FirestoreConfiguration) {
    self.store = store
    self.listening = listening
    clock = setup.clock
    logger = setup.logger
  }

  /// Listens to what was kept in earlier runs.
  func begin() {
    isUnread = false
    do throws(StoreError) {
      let stored = try store.read { (view, lane) throws(StoreError) in
        var found: [[UInt8]] = []
        var last = MetadataName.pinned
        while true {
          let names = try view.metadataNames(lane.tree, after: last, limit: 64)
          let own = names.prefix { $0.utf8.starts(with: MetadataName.pinned.utf8) }
          for name in own {
            if let bytes = try view.metadata(lane.tree, name) { found.append(bytes) }
          }
          guard own.count == names.count, let next = names.last else { return found }
          last = next
        }
      }
      for bytes in stored { listen(bytes) }
    } catch {
      store.log("kept queries could not be read", error)
      isUnread = !error.isLasting
      if isUnread { tryLater() }
    }
  }

  /// The engine ends: nothing is tried again.
  func close() { (pinned, isUnread, retry) = ([:], false, Retry()) }

  /// When `tick` is to be called.
  var deadline: Int64? { retry.moment }

  /// The time of `deadline` has come; harmless before.
  func tick() {
    guard retry.isDue(at: clock.now) else { return }
    let failed = pinned.values.filter { if case .failed = $0.state { true } else { false } }
    if isUnread { begin() }
    for (query, _) in failed { listen(query) }
    if retry.moment == nil { retry = Retry() }
  }

  private func tryLater() { if retry.moment == nil { retry.failed(at: clock.now) } }

  /// Listens to a stored query. One that cannot be read does not keep others from being listened
  /// to.
  private func listen(_ bytes: [UInt8]) {
    do throws(StatusError) {
      let query = try DocumentQuery(json: bytes)
      // The app may have said something else of it before it could be read.
      guard pinned[query.target] == nil, !unstored.contains(query.target) else { return }
      listen(query)
    } catch {
      logger.error("a kept query cannot be read", metadata: ["cause": "\(error)"])
    }
  }

  /// Keeps a query, durably, or ends that.
  func set(_ isKept: Bool, _ query: DocumentQuery) {
    let target = query.target
    guard store.lane != nil else {
      logger.error("a query is not kept", metadata: ["cause": "\(store.error.message)"])
      return
    }
    let known = pinned[target]
    if isKept, case .listening? = known?.state, !unstored.contains(target) { return }
    do throws(StoreError) {
      try store.commit(edits(isKept, query))
      unstored.remove(target)
    } catch {
      unstored.insert(target)
      store.log(isKept ? "a query is not kept durably" : "a query is kept on", error)
    }
    if isKept {
      if case .listening? = known?.state { return }
      return listen(query)
    }
    pinned[target] = nil
    if case .listening(let id)? = known?.state { listening.unlisten(id) }
  }

  private func edits(_ isKept: Bool, _ query: DocumentQuery) -> [StorageEdit] {
    let pin = Pin(store.sharedLane, query.target)
    guard isKept else {
      return [
        .unpin(pin), .setMetadata(store.tree, MetadataName.pinned(query.target.canonical), nil),
      ]
    }
    return [
      .pin(pin), .setMetadata(store.tree, MetadataName.pinned(query.target.canonical), query.json),
    ]
  }

  private func listen(_ query: DocumentQuery) {
    let target = query.target
    // The listener may end before its id is stored below.
    pinned[target] = (query, .ended)
    var hasEnded = false
    do throws(StoreError) {
      let id = try listening.listen(query, ListenOptions()) { [weak self, logger] result in
        guard case .failure(let error) = result else { return }
        hasEnded = true
        if self?.pinned[target] != nil { self?.pinned[target] = (query, .ended) }
        logger.warning("a kept query is not kept up to date", metadata: ["cause": "\(error)"])
      }
      if !hasEnded { pinned[target] = (query, .listening(id)) }
    } catch {
      store.log("a kept query is not kept up to date", error)
      guard !error.isLasting else { return }
      pinned[target] = (query, .failed)
      tryLater()
    }
  }

  /// Another user is signed in, for whom the server may allow the listens.
  func userChanged() {
    for (query, state) in Array(pinned.values) {
      if case .listening = state { continue }
      listen(query)
    }
  }
}
