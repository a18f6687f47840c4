import ConiferDocument
import ConiferWire
import Synchronization

/// A client's end of a stream of listens: it replays what it is told, as a plain client does.
final class Listener: Sendable {
  /// What a target shows.
  struct Shown: Sendable {
    var paths: Set<DocumentPath> = []
    var isCurrent = false
    /// What the last filter said, and whether the number was another one.
    var filter: (count: Int, isMismatch: Bool)?
  }

  struct State: Sendable {
    var isOpen = false
    /// Why it closed; nil inside when the client closed it.
    var closed: StatusError??
    var targets: [TargetID: Shown] = [:]
    var documents: [DocumentPath: Document] = [:]
    var rejected: [TargetID: StatusError] = [:]
    var resets = 0
    /// The last moment that was told.
    var version = Timestamp.zero
    var token: [UInt8] = []
    /// All that was said since it was last taken.
    var said: [WatchChange] = []
    /// Why what was said cannot be.
    var complaints: [String] = []
    var stream: (any WatchStream)?
    /// What was whole when the last moment was told, with which another stream goes on.
    var moment: Whole?
    /// Whether nothing was said since a moment.
    var isAtMoment = false
  }

  /// What was whole at a moment.
  struct Whole: Sendable {
    let version: Timestamp
    let token: [UInt8]
    /// What the targets showed that were current.
    let current: [TargetID: Set<DocumentPath>]
    let documents: [DocumentPath: Document]
  }

  private let state: Mutex<State>

  /// Opens a stream.
  ///
  /// - Parameter earlier: what an earlier stream was told, with which the client goes on.
  init(_ service: any DocumentService, token: String? = nil, after earlier: State? = nil) {
    var begun = State()
    begun.documents = earlier?.documents ?? [:]
    begun.version = earlier?.version ?? .zero
    begun.targets = earlier?.targets ?? [:]
    begun.moment = earlier?.moment
    state = Mutex(begun)
    let stream = service.openWatch(token: token) { [weak self] event in
      self?.state.withLock { $0.take(event) }
    }
    state.withLock { $0.stream = stream }
  }

  var now: State { state.withLock { $0 } }

  /// Takes what was said since the last time.
  func take() -> [WatchChange] {
    state.withLock { state in
      defer { state.said = [] }
      return state.said
    }
  }

  func add(
    _ id: TargetID, _ query: DocumentQuery, token: [UInt8] = [], version: Timestamp = .zero,
    expectedCount: Int? = nil
  ) {
    add(id, query.target, token: token, version: version, expectedCount: expectedCount)
  }

  /// Listens to a target, which may be one that no query has.
  func add(
    _ id: TargetID, _ target: DocumentTarget, token: [UInt8] = [], version: Timestamp = .zero,
    expectedCount: Int? = nil
  ) {
    var watch = WatchTarget(id, target, resumeToken: token, version: version)
    watch.expectedCount = expectedCount
    state.withLock { state in
      if token.isEmpty && version == .zero || state.targets[id] == nil {
        state.targets[id] = Shown()
      }
      state.targets[id]?.isCurrent = false
      state.stream?.add(watch)
    }
  }

  /// Shows again what was whole at a moment.
  func restore(_ id: TargetID, _ paths: Set<DocumentPath>, _ documents: [DocumentPath: Document]) {
    state.withLock { state in
      state.targets[id] = Shown(paths: paths)
      state.documents = documents
    }
  }

  func remove(_ id: TargetID) {
    state.withLock { state in
      state.targets[id] = nil
      state.stream?.remove(id)
    }
  }

  func close() { state.withLock { $0.stream }?.close() }

  /// The paths that a target shows, in order.
  func paths(_ id: TargetID) -> [String] {
    state.withLock { ($0.targets[id]?.paths ?? []).sorted().map(\.description) }
  }

  /// The documents that a target shows, in the query's order.
  func documents(_ id: TargetID, _ query: DocumentQuery) -> [Document] {
    state.withLock { $0.documents(id, query) }
  }
}

extension Listener.State {
  func documents(_ id: TargetID, _ query: DocumentQuery) -> [Document] {
    (targets[id]?.paths ?? []).compactMap { documents[$0] }
      .sorted { query.target.compare($0, $1) < 0 }
  }

  mutating func take(_ event: WatchStreamEvent) {
    if closed != nil { complaints.append("\(event) came after the end.") }
    switch event {
    case .opened:
      if isOpen { complaints.append("The stream opened twice.") }
      isOpen = true
    case .closed(let error): closed = .some(error)
    case .said(let change, let moment):
      said.append(change)
      isAtMoment = false
      take(change)
      guard let moment else { return }
      if moment < version { complaints.append("The moment \(moment) came after \(version).") }
      version = moment
      if case .targets(_, _, let token) = change, !token.isEmpty { self.token = token }
      isAtMoment = true
      self.moment = Listener.Whole(
        version: version, token: token,
        current: targets.filter(\.value.isCurrent).mapValues(\.paths), documents: documents)
    }
  }

  private mutating func take(_ change: WatchChange) {
    switch change {
    case .targets(.current, let ids, _):
      for id in ids { targets[id]?.isCurrent = true }
    case .targets(.reset, let ids, _):
      resets += 1
      for id in ids { targets[id]?.paths = [] }
    case .targets(.rejected(let error), let ids, _):
      for id in ids {
        rejected[id] = error
        targets[id] = nil
      }
    case .targets: break
    case .document(let document, let matching, let leaving):
      if matching.isEmpty && leaving.isEmpty { complaints.append("\(document) is for nobody.") }
      if let known = documents[document.path], known.version > document.version {
        complaints.append(
          "\(document.path) went back from \(known.version) to \(document.version).")
      }
      documents[document.path] = document
      for id in matching { targets[id]?.paths.insert(document.path) }
      for id in leaving { targets[id]?.paths.remove(document.path) }
    case .left(let path, let ids):
      for id in ids { targets[id]?.paths.remove(path) }
    case .filter(let id, let count, let filter):
      guard var shown = targets[id] else { return }
      let isMismatch = shown.paths.count != count
      if isMismatch, let filter {
        shown.paths = shown.paths.filter {
          filter.mayContain("\(DocumentName($0, in: database))")
        }
      }
      shown.filter = (count, isMismatch)
      targets[id] = shown
    case .unreadable(let error, _): complaints.append("What was said cannot be read: \(error)")
    }
  }
}
