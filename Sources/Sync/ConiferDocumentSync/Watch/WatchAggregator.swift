import ConiferDocument
import ConiferWire

/// Gathers what a stream of listens says until it is consistent.
///
/// The views know which documents a target had before; each step is given a function that tells.
struct WatchAggregator: Sendable {
  /// The documents that the server said match a target, up to the last snapshot.
  typealias Matched = (TargetID) -> MatchedPaths

  /// A target that documents are told for.
  private struct Receiver {
    let id: TargetID
    /// Where it looks; nil when nothing that is said of it counts.
    let source: DocumentQuery.Source?
    let matched: MatchedPaths
  }

  let database: DatabaseID
  private var states: [TargetID: TargetState] = [:]
  /// How many states of targets there were.
  private var stateCount = 0
  private var pending = PendingWatchDocuments()
  private var mismatches: [TargetID: TargetPurpose] = [:]
  /// What was passed over since `takeFaults`.
  private var faults: [WatchFault] = []
  /// The kinds of these that the log was told of.
  private var faultKinds: Set<WatchFault.Kind> = []
  private var tokens = TokenEvidence()
  /// Whether the server has told no snapshot since the stream was opened.
  private var isFirst = true
  /// How often all targets were restarted because the server's time had gone back.
  private var clockResets = 0
  /// How many snapshots from far in the past were skipped since then.
  private var skippedSnapshots = 0
  /// How many snapshots in a row were accepted.
  private var acceptedSnapshots = 0
  /// Whether the next snapshot replaces newer data too, because a server that may be a new one sent
  /// an older snapshot.
  private var replacesNewer = false

  /// The number of accepted snapshots in a row after which earlier clock resets are forgotten.
  private static let resetsForgottenAfter = 64

  init(_ database: DatabaseID) { self.database = database }

  /// A target is being added or removed.
  mutating func sent(_ request: TargetState.Request, _ id: TargetID) {
    if request == .remove { tokens.removing(id) }
    change(id) { $0.sent(request) }
  }

  /// Changes the state of a target, which is made if there is none.
  private mutating func change(_ id: TargetID, _ body: (inout TargetState) -> Void) {
    if let place = place(of: id) { body(&states.values[place]) }
  }

  /// Nothing was said of a target yet; what was, is void.
  private mutating func begin(_ id: TargetID, hasPendingChanges: Bool = true) {
    stateCount += 1
    states[id] = TargetState(stateCount, hasPendingChanges: hasPendingChanges)
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

  /// Whether messages about a target belong to the present listen.
  func isActive(_ id: TargetID, _ targets: [TargetID: WatchTarget]) -> Bool {
    targets[id] != nil && states[id]?.isPending != true
  }

  /// The targets of which the server may say something.
  var all: [TargetID] { states.keys.sorted() }

  /// A target is asked for from where it was.
  mutating func resume(_ id: TargetID) { tokens.resumed(id) }

  /// Whether the server, which has told no snapshot, lost its history, or is another one.
  var indicatesNewServer: Bool { isFirst && tokens.indicatesNewServer }

  /// Counts a snapshot from far in the past. After each restart it takes twice as many of them to
  /// restart all targets again, because servers with different times may answer at one address in
  /// turn.
  ///
  /// - Returns: whether the server's time went back.
  mutating func countsAsClockReset() -> Bool {
    acceptedSnapshots = 0
    skippedSnapshots += 1
    guard skippedSnapshots >= 1 << min(clockResets, 30) else { return false }
    (clockResets, skippedSnapshots) = (clockResets + 1, 0)
    return true
  }

  /// A server that restarted all targets sent a snapshot slightly older than the newest one. It is
  /// a replica that lags, or a server that lost its last commits.
  mutating func newServerLagged() { replacesNewer = true }

  /// Whether the next snapshot replaces all known data, also newer data.
  mutating func takeReplacesNewer() -> Bool {
    defer { replacesNewer = false }
    return replacesNewer
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

  /// The server said something.
  mutating func take(
    _ changes: consuming [WatchChange], _ targets: [TargetID: WatchTarget], _ matched: Matched
  ) {
    // Most documents follow another one of the same target.
    var receiver: Receiver?
    func at(_ id: TargetID) -> Receiver {
      if let receiver, receiver.id == id { return receiver }
      let isActive = isActive(id, targets)
      let new = Receiver(
        id: id, source: isActive ? targets[id]?.target.source : nil,
        matched: isActive ? matched(id) : [])
      receiver = new
      return new
    }
    for index in changes.indices {
      // Taken out, so that documents are not copied.
      var change = WatchChange.targets(.noChange, [])
      swap(&change, &changes[index])
      switch consume change {
      case .document(let document, let matching, let leaving):
        if document.fields != nil {
          for id in matching { add(document, to: at(id)) }
        } else {
          for id in matching { remove(document.path, from: at(id), document) }
        }
        for id in leaving { remove(document.path, from: at(id), document) }
      case .left(let path, let ids): for id in ids { remove(path, from: at(id), nil) }
      case .targets(let event, let ids, let token):
        for id in ids.isEmpty ? Array(states.keys) : ids {
          take(event, id, token, targets, matched)
        }
        receiver = nil
      case .filter(let id, let count, let filter):
        guard isActive(id, targets), let target = targets[id] else { continue }
        check(target, count, filter, targets, matched)
      case .unreadable(let error, _): pass(.unreadable(error))
      }
    }
  }

  private mutating func take(
    _ event: WatchChange.Event, _ id: TargetID, _ token: [UInt8],
    _ targets: [TargetID: WatchTarget], _ matched: Matched
  ) {
    switch event {
    case .noChange: guard isActive(id, targets) else { return }
    case .added:
      // Data of a target that was not asked for must not be kept.
      guard targets[id] != nil || states[id] != nil else { return }
      change(id) { $0.answered(.add) }
      // Everything before, being current too, belongs to an earlier listen.
      if states[id]?.isPending == false { begin(id, hasPendingChanges: false) }
    case .removed:
      tokens.removed(id)
      states[id]?.answered(.remove)
      if states[id]?.isPending == false { states[id] = nil }
      return
    case .rejected: return
    case .current:
      tokens.current(id)
      guard isActive(id, targets) else { return }
      change(id) { $0.becomeCurrent() }
    case .reset:
      tokens.reset(id)
      guard isActive(id, targets) else { return }
      reset(id, targets, matched)
    }
    change(id) { $0.take(token: token) }
  }

  private mutating func add(_ document: consuming Document, to receiver: Receiver) {
    guard let source = receiver.source else { return }
    let path = document.path
    // The store would refuse a document outside of the target's source, and with it the whole
    // event.
    guard source.contains(path) else { return pass(.misplaced(path, receiver.id)) }
    note(receiver.matched.contains(path) ? .modified : .added, path, document, receiver.id)
  }

  private mutating func remove(
    _ path: DocumentPath, from receiver: Receiver, _ document: Document?
  ) {
    guard receiver.source != nil else { return }
    // It may have come and gone since the last snapshot.
    note(receiver.matched.contains(path) ? .removed : nil, path, document, receiver.id)
  }

  /// Where the state of a target is, which is made if there is none.
  private mutating func place(of id: TargetID) -> Dictionary<TargetID, TargetState>.Index? {
    if let place = states.index(forKey: id) { return place }
    begin(id)
    return states.index(forKey: id)
  }

  /// Notes what happened to a document in a target, and what the document is then, if that was sent.
  private mutating func note(
    _ change: TargetState.Change?, _ path: DocumentPath, _ document: consuming Document?,
    _ id: TargetID
  ) {
    guard let place = place(of: id) else { return }
    let isReceiver = document != nil
    let note = PendingWatchDocuments.Note(
      target: id, state: states.values[place].number, change: change, isReceiver: isReceiver)
    states.values[place].noted(change, insteadOf: pending.note(path, document, note))
  }

  /// A document that a target is of leaves it, or was never there.
  private mutating func goes(
    _ path: DocumentPath, from id: TargetID, _ document: Document, _ matched: Matched
  ) { note(matched(id).contains(path) ? .removed : nil, path, document, id) }

  /// The target begins anew; what the server does not send again has left it.
  private mutating func reset(
    _ id: TargetID, _ targets: [TargetID: WatchTarget], _ matched: Matched
  ) {
    begin(id)
    for path in matched(id).sorted() { note(.removed, path, nil, id) }
  }

  // MARK: Existence filters

  private mutating func check(
    _ target: WatchTarget, _ count: Int, _ filter: BloomFilter?,
    _ targets: [TargetID: WatchTarget], _ matched: Matched
  ) {
    let id = target.id
    if let path = target.document {
      if count == 0 { goes(path, from: id, Document(path, .missing), matched) }
      return
    }
    let before = matched(id)
    let here = before.count + (states[id]?.growth ?? 0)
    guard here != count else { return }
    if let filter {
      let gone = before.sorted().filter { !filter.mayContain("\(DocumentName($0, in: database))") }
      for path in gone { note(.removed, path, nil, id) }
      if here - gone.count == count { return }
    }
    reset(id, targets, matched)
    mismatches[id] = filter == nil ? .existenceFilterMismatch : .existenceFilterMismatchBloom
  }

  // MARK: Snapshots

  /// The first moment of this stream up to which all was said of a target; nil when there was none yet.
  func completeSince(_ id: TargetID) -> Timestamp? {
    states[id].flatMap { $0.isPending ? nil : $0.completeSince }
  }

  /// All that was said since the last one, as of a moment.
  mutating func event(
    at version: Timestamp, _ targets: [TargetID: WatchTarget], _ matched: Matched
  ) -> RemoteEvent {
    isFirst = false
    acceptedSnapshots += 1
    if acceptedSnapshots == Self.resetsForgottenAfter { clockResets = 0 }
    var event = RemoteEvent(version: version, mismatches: mismatches)
    mismatches = [:]
    for id in Array(states.keys) where isActive(id, targets) {
      // When a target is a single missing document, the server sends only that it is current.
      if states[id]?.isCurrent == true, let path = targets[id]?.document,
        !pending.wasSent(path, for: id), !matched(id).contains(path)
      {
        goes(path, from: id, Document(path, .missing, version: version), matched)
      }
    }
    var gathered = GatheredChanges()
    for id in Array(states.keys) where isActive(id, targets) {
      guard let place = states.index(forKey: id) else { continue }
      let state = states.values[place]
      gathered.add(
        id, state: state.number, isLimbo: targets[id]?.purpose == .limboResolution,
        state.hasPendingChanges ? states.values[place].takeChange(at: version) : nil)
    }
    var entries = pending.takeAll()
    event.documents.reserveCapacity(entries.count)
    for index in entries.indices {
      if let document = entries[index].takeDocument() {
        event.documents.append(document.read(at: version))
      }
      if entries[index].tell(&gathered) { event.resolvedLimbo.insert(entries[index].path) }
    }
    event.targets = gathered.changes
    return event
  }
}

extension Document {
  fileprivate consuming func read(at time: Timestamp) -> Document {
    Document(path, state, version: version, readTime: time, writes: writes)
  }
}
