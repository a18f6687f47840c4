import ConiferDocument
import ConiferWire

/// Gathers what a stream of listens says until it is consistent.
///
/// The views know which documents a target had before; each step is given a function that tells.
struct WatchAggregator: Sendable {
  /// The documents that the server said match a target, up to the last snapshot.
  typealias Matched = (TargetID) -> Set<DocumentPath>

  /// What was said of a document since the last snapshot.
  private struct Said: Sendable {
    /// The document, if it was sent.
    var document: Document?
    /// The targets that it was sent for.
    var receivers = TargetIDs()
    /// The targets that it came into or left.
    var touched = TargetIDs()
  }

  let database: DatabaseID
  private var states: [TargetID: TargetState] = [:]
  private var said: [DocumentPath: Said] = [:]
  private var mismatches: [TargetID: TargetPurpose] = [:]
  /// What was passed over since `takeFaults`.
  private var faults: [WatchFault] = []
  /// The kinds of these that the log was told of.
  private var faultKinds: Set<WatchFault.Kind> = []
  private var tokens = TokenEvidence()
  /// Whether the server has told no snapshot since the stream was opened.
  private var isFirst = true
  /// How often all was asked for anew, as the server's time went back.
  private var setBacks = 0
  /// How many snapshots of the past were passed over since.
  private var passedOver = 0
  /// How many snapshots in a row were taken in.
  private var takenIn = 0
  /// Whether a server that may be a new one told a snapshot that was passed over.
  private var hasLagged = false

  /// After so many snapshots in a row, how often the time went back is forgotten.
  private static let forgives = 64

  init(_ database: DatabaseID) { self.database = database }

  /// A target is being added or removed.
  mutating func sent(_ request: TargetState.Request, _ id: TargetID) {
    if request == .remove { tokens.removing(id) }
    states[id, default: TargetState()].sent(request)
  }

  /// A target was refused.
  ///
  /// - Returns: whether it is the listen that there is now: nothing that was said of it counts.
  mutating func refuse(_ id: TargetID) -> Bool {
    let isNewest = states[id]?.refused() ?? true
    if isNewest { tokens.refused(id) } else { tokens.removed(id) }
    if isNewest || states[id]?.isPending == false { states[id] = nil }
    return isNewest
  }

  /// Whether what is said of a target is meant for the listen that there is now.
  func isActive(_ id: TargetID, _ targets: [TargetID: WatchTarget]) -> Bool {
    targets[id] != nil && states[id]?.isPending != true
  }

  /// The targets of which the server may say something.
  var all: [TargetID] { states.keys.sorted() }

  /// A target is asked for from where it was.
  mutating func resume(_ id: TargetID) { tokens.resumed(id) }

  /// Whether the server, which has told no snapshot, lost its history, or is another one.
  var isOfNewServer: Bool { isFirst && tokens.isOfNewServer }

  /// A snapshot is of the past by far. Each time it takes twice as many to ask for all anew: behind one address there may
  /// be servers with two times, whose answers alternate.
  ///
  /// - Returns: whether the server's time went back.
  mutating func isSetBack() -> Bool {
    takenIn = 0
    passedOver += 1
    guard passedOver >= 1 << min(setBacks, 30) else { return false }
    (setBacks, passedOver) = (setBacks + 1, 0)
    return true
  }

  /// A server that began all anew told a snapshot of just before the newest one: a replica that lags, or a server that
  /// lost its last commits.
  mutating func lagged() { hasLagged = true }

  /// Whether what is told next stands for all that was known, also for what is newer.
  mutating func takeLag() -> Bool {
    defer { hasLagged = false }
    return hasLagged
  }

  /// Passes something over.
  mutating func pass(_ fault: WatchFault) {
    if faultKinds.insert(fault.kind).inserted { faults.append(fault) }
  }

  /// Takes what was passed over.
  mutating func takeFaults() -> [WatchFault] {
    defer { faults = [] }
    return faults
  }

  // MARK: What is said

  mutating func take(
    _ change: WatchChange, _ targets: [TargetID: WatchTarget], _ matched: Matched
  ) {
    switch change {
    case .targets(let event, let ids, let token):
      for id in ids.isEmpty ? Array(states.keys) : ids { take(event, id, token, targets, matched) }
    case .document(let document, let matching, let leaving):
      let isFound = document.fields != nil
      if isFound { for id in matching { add(document, to: id, targets, matched) } }
      for id in (isFound ? [] : matching) + leaving {
        remove(document.path, from: id, document, targets, matched)
      }
    case .left(let path, let ids):
      for id in ids { remove(path, from: id, nil, targets, matched) }
    case .filter(let id, let count, let filter):
      guard isActive(id, targets), let target = targets[id] else { return }
      check(target, count, filter, targets, matched)
    case .unreadable(let error, _): pass(.unreadable(error))
    }
  }

  private mutating func take(
    _ event: WatchChange.Event, _ id: TargetID, _ token: [UInt8],
    _ targets: [TargetID: WatchTarget], _ matched: Matched
  ) {
    switch event {
    case .noChange: guard isActive(id, targets) else { return }
    case .added:
      // What nobody asked for must not be kept.
      guard targets[id] != nil || states[id] != nil else { return }
      states[id, default: TargetState()].answered(.add)
      // What came before belongs to an earlier listen: that it was current, too.
      if states[id]?.isPending == false { states[id] = .added }
    case .removed:
      tokens.removed(id)
      states[id]?.answered(.remove)
      if states[id]?.isPending == false { states[id] = nil }
      return
    case .rejected: return
    case .current:
      tokens.current(id)
      guard isActive(id, targets) else { return }
      states[id, default: TargetState()].becomeCurrent()
    case .reset:
      tokens.reset(id)
      guard isActive(id, targets) else { return }
      reset(id, targets, matched)
    }
    states[id, default: TargetState()].take(token: token)
  }

  private mutating func add(
    _ document: Document, to id: TargetID, _ targets: [TargetID: WatchTarget], _ matched: Matched
  ) {
    guard isActive(id, targets) else { return }
    let path = document.path
    // The store refuses one that is not where the target looks, and with it all that was said.
    guard targets[id]?.target.source.contains(path) == true else {
      return pass(.misplaced(path, id))
    }
    states[id, default: TargetState()]
      .note(matched(id).contains(path) ? .modified : .added, of: path)
    note(document, path, id)
  }

  /// Notes that a document came into a target or left it, and what the document is then, if that was sent.
  private mutating func note(_ document: Document?, _ path: DocumentPath, _ id: TargetID) {
    func change(_ said: inout Said) {
      said.touched.insert(id)
      guard let document else { return }
      said.document = document
      said.receivers.insert(id)
    }
    change(&said[path, default: Said()])
  }

  private mutating func remove(
    _ path: DocumentPath, from id: TargetID, _ document: Document?,
    _ targets: [TargetID: WatchTarget], _ matched: Matched
  ) {
    guard isActive(id, targets) else { return }
    // It may have come and gone since the last snapshot.
    states[id, default: TargetState()]
      .note(matched(id).contains(path) ? .removed : nil, of: path)
    note(document, path, id)
  }

  /// The target begins anew; what the server does not send again has left it.
  private mutating func reset(
    _ id: TargetID, _ targets: [TargetID: WatchTarget], _ matched: Matched
  ) {
    states[id] = TargetState()
    for path in matched(id) { remove(path, from: id, nil, targets, matched) }
  }

  // MARK: Existence filters

  private mutating func check(
    _ target: WatchTarget, _ count: Int, _ filter: BloomFilter?,
    _ targets: [TargetID: WatchTarget], _ matched: Matched
  ) {
    let id = target.id
    if let path = target.document {
      if count == 0 { remove(path, from: id, Document(path, .missing), targets, matched) }
      return
    }
    let before = matched(id)
    let here = before.count + (states[id]?.growth ?? 0)
    guard here != count else { return }
    if let filter {
      let gone = before.filter { !filter.mayContain("\(DocumentName($0, in: database))") }
      for path in gone { remove(path, from: id, nil, targets, matched) }
      if here - gone.count == count { return }
    }
    reset(id, targets, matched)
    mismatches[id] = filter == nil ? .existenceFilterMismatch : .existenceFilterMismatchBloom
  }

  // MARK: Snapshots

  /// All that was said since the last one, as of a moment.
  mutating func event(
    at version: Timestamp, _ targets: [TargetID: WatchTarget], _ matched: Matched
  ) -> RemoteEvent {
    isFirst = false
    takenIn += 1
    if takenIn == Self.forgives { setBacks = 0 }
    var event = RemoteEvent(version: version, mismatches: mismatches)
    for id in Array(states.keys) where isActive(id, targets) {
      // When a target is a single missing document, the server sends only that it is current.
      if states[id]?.isCurrent == true, let path = targets[id]?.document,
        said[path]?.receivers.contains(id) != true, !matched(id).contains(path)
      {
        let missing = Document(path, .missing, version: version)
        remove(path, from: id, missing, targets, matched)
      }
      guard let state = states[id], state.hasPendingChanges else { continue }
      event.targets[id] = state.targetChange
      states[id]?.forgetChanges()
    }
    event.documents.reserveCapacity(said.count)
    for (path, said) in said {
      if let document = said.document { event.documents[path] = document.read(at: version) }
      let isLimboAlone = said.touched.allSatisfy {
        !isActive($0, targets) || targets[$0]?.purpose == .limboResolution
      }
      if isLimboAlone { event.resolvedLimbo.insert(path) }
    }
    said = [:]
    mismatches = [:]
    return event
  }
}

/// Numbers of targets; mostly there is one.
private struct TargetIDs: Sendable {
  private var first: TargetID?
  private var others: Set<TargetID> = []

  mutating func insert(_ id: TargetID) {
    if first == nil { first = id } else if first != id { others.insert(id) }
  }

  func contains(_ id: TargetID) -> Bool { first == id || others.contains(id) }

  func allSatisfy(_ body: (TargetID) -> Bool) -> Bool {
    (first.map(body) ?? true) && others.allSatisfy(body)
  }
}

extension Document {
  fileprivate func read(at time: Timestamp) -> Document {
    Document(path, state, version: version, readTime: time, writes: writes)
  }
}
