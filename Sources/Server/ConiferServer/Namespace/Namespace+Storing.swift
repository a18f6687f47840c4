import ConiferKeyValue
import ConiferStorage
import ConiferTree
import ConiferWire

// What is stored, and what becomes of it when that fails.
extension Namespace {
  /// What is being committed, and what is done once it is stored.
  struct Commit: Sendable {
    enum Content: Sendable {
      /// Writes, each staged over the one before; the session that left them, if one did.
      case writes([StagedWrite], ended: Session?)
      /// A change of what a session leaves, for a request that waits for its answer.
      case disconnect(SessionID, UInt64, DisconnectChange)
      /// As whom a session's operations run.
      case user(SessionID)
      /// A session's operations once more, in the place of what was stored before.
      case renewal(SessionID, before: DisconnectLog)
      /// Rules, for a call that waits for its answer.
      case rules(SecurityRules, UInt64)
    }

    let content: Content
    /// Where it changes data.
    let paths: [Path]
  }

  /// Asks for a commit. The one after a commit in doubt first sets what that may have left to what everybody was told.
  ///
  /// - Parameter records: what is stored besides data.
  mutating func commit(
    _ content: Commit.Content, _ changes: [NodeChange] = [], _ records: [ServerRecord]
  ) {
    inFlight = Commit(content: content, paths: changes.map(\.path))
    let before = doubtfulRecords.sorted { $0.key < $1.key }
    outputs.append(
      .commit(
        doubtful.sorted().map { NodeChange($0, root[$0]) } + changes,
        before.map { ServerRecord(name: $0.key, bytes: $0.value) } + records))
  }

  /// A commit has ended.
  mutating func finish(_ commit: Commit, _ failure: StoreError?, now: Int64) {
    // A poisoned store takes nothing any more.
    let isInDoubt =
      failure.map { $0.leavesDoubt && ($0.code == .io || doubtful.isEmpty) } ?? false
    if isInDoubt { doubtful.formUnion(commit.paths) }
    switch commit.content {
    case .writes(let staged, var ended):
      // What was to be done is not done, so it is to be there for the next server.
      if isInDoubt, let records = ended?.renewedRecords() { doubt(records) }
      finish(staged, failure, now: now)
    case .disconnect(let id, let request, let change):
      guard let failure else {
        sessions[id]?.log.isUserStored = true
        changeDisconnect(of: id) { change.apply(to: &$0) }
        send(id, .response(request, .ok))
        return renewLog(of: id)
      }
      // Its number is not used again: the record may be there.
      if isInDoubt, let record = sessions[id]?.newestRemoval { doubt([record]) }
      send(id, .response(request, refusal(failure)))
    case .user(let id):
      sessions[id]?.log.isUserStored = failure == nil
      if let failure { note(failure) }
    case .renewal(let id, let before):
      guard let failure else { return }
      sessions[id]?.log.keep(before)
      note(failure)
    case .rules(let new, let call):
      if failure == nil {
        setRules(new, isCommon: false, now: now)
      } else if isInDoubt {
        doubt([.rules((rules as? SecurityRules)?.source)])
      }
      outputs.append(.answer(call, failure.map { refusal($0) } ?? .ok))
    }
  }

  private mutating func doubt(_ records: [ServerRecord]) {
    for record in records { doubtfulRecords.updateValue(record.bytes, forKey: record.name) }
  }

  private mutating func note(_ failure: StoreError) {
    outputs.append(.log("A commit failed: \(failure)"))
  }

  /// The answer to who waits for a commit that failed, which is logged.
  mutating func refusal(_ failure: StoreError) -> Response {
    note(failure)
    // The store's message names files, so only the log gets it.
    return Response(.unavailable, reason: "The server cannot store data now (\(failure.code)).")
  }

  // MARK: Records

  /// Stores a change of what a session leaves; it is made and answered then.
  mutating func store(_ change: DisconnectChange, _ request: UInt64, of id: SessionID) {
    guard var session = sessions.removeValue(forKey: id) else { return }
    var records = session.log.isUserStored ? [] : [session.userRecord]
    records.append(session.log.append(change, of: session.name))
    sessions[id] = session
    commit(.disconnect(id, request, change), [], records)
  }

  /// Leaves out what was replaced, when that takes most of what is stored.
  private mutating func renewLog(of id: SessionID) {
    guard var session = sessions[id], session.log.isBloated else { return }
    let before = session.log
    let records = session.log.renew(session.disconnect, of: session.name)
    sessions[id] = session
    commit(.renewal(id, before: before), [], records)
  }

  /// Stores as whom a session's operations run.
  mutating func storeUser(of id: SessionID) {
    guard let session = sessions[id], !session.log.isEmpty else { return }
    commit(.user(id), [], [session.userRecord])
  }

  /// A session of an earlier server ends.
  mutating func restore(_ id: SessionID, _ left: LeftSession, now: Int64) {
    var session = Session(name: left.name, since: now)
    (session.auth, session.log) = (left.user, left.log)
    sessions[id] = session
    names[left.name] = id
    changeDisconnect(of: id) { $0 = left.writes }
    waiting.append(.end(id))
  }

  /// Sets rules once they are stored, at once without a store.
  mutating func storeRules(_ new: SecurityRules, _ call: UInt64, now: Int64) {
    guard isStored else {
      setRules(new, isCommon: false, now: now)
      return outputs.append(.answer(call, .ok))
    }
    commit(.rules(new, call), [], [.rules(new.source)])
  }
}

extension Namespace.Session {
  fileprivate var userRecord: ServerRecord { .user(auth ?? lapsed, of: name) }

  /// What takes away all that is stored.
  var removedRecords: [ServerRecord] { log.removal(of: name) + [.user(nil, of: name)] }

  /// What is stored anew of what is left to be done.
  fileprivate mutating func renewedRecords() -> [ServerRecord] {
    log.renew(disconnect, of: name) + [userRecord]
  }

  /// What takes away the newest request.
  fileprivate var newestRemoval: ServerRecord? { log.removal(of: name).last }
}

/// What a session left to be done when its server ended without it.
struct LeftSession: Sendable {
  let name: String
  let user: VerifiedToken?
  let writes: DisconnectWrites
  let log: DisconnectLog
}
