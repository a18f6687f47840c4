import ConiferKeyValue
import ConiferStorage
import ConiferTree
import ConiferWire

// What is stored, and what becomes of it when that fails.
extension Namespace {
  /// What is being committed, and what is done once it is stored.
  struct Commit: Sendable {
    enum Content: Sendable {
      /// Writes, each staged over the one before; the sessions that left some of them.
      case writes([StagedWrite], ended: [EndedSession])
      /// Changes of what sessions leave, and their logs then.
      case disconnects([Registration], [SessionID: DisconnectLog])
      /// Logs that were made anew.
      case renewals([SessionID: DisconnectLog])
      /// As whom sessions' operations run, and answers that wait for that.
      case users([SessionID], [(SessionID, UInt64, Response)])
      /// Rules, for a call that waits for its answer.
      case rules(SecurityRules, UInt64)
    }

    let content: Content
    /// Where it changes data.
    let paths: [Path]
    let records: [ServerRecord]
  }

  /// A change of what a session leaves, for a request that waits for its answer.
  struct Registration: Sendable {
    let session: SessionID
    let request: UInt64
    let change: DisconnectChange
  }

  /// A session that has ended, with what it left.
  struct EndedSession: Sendable {
    let id: SessionID
    var session: Session
  }

  /// Asks for a commit. The one after a commit in doubt first sets what that may have left to what everybody was told.
  ///
  /// - Parameter records: what is stored besides data.
  mutating func commit(
    _ content: Commit.Content, _ changes: [NodeChange] = [], _ records: [ServerRecord]
  ) {
    inFlight = Commit(content: content, paths: changes.map(\.path), records: records)
    let before = doubtfulRecords.sorted { $0.key < $1.key }
    outputs.append(
      .commit(
        doubtful.sorted().map { NodeChange($0, root[$0]) } + changes,
        before.map { ServerRecord(name: $0.key, bytes: $0.value) } + records))
  }

  /// A commit has ended.
  mutating func finish(_ commit: Commit, _ failure: StoreError?, now: Int64) {
    if failure == nil {
      (doubtful, doubtfulRecords) = ([], [:])
      repeatEnds()
    }
    // A poisoned store takes nothing any more.
    let isKnown = doubtful.isEmpty && doubtfulRecords.isEmpty
    let isInDoubt = failure.map { $0.leavesDoubt && ($0.code == .io || isKnown) } ?? false
    if isInDoubt { doubtful.formUnion(commit.paths) }
    switch commit.content {
    case .writes(let staged, let ended):
      if let failure { postpone(ended, failure, isInDoubt: isInDoubt) }
      finish(staged, failure, now: now)
    case .disconnects(let registrations, let logs):
      let answer = failure.map { refusal($0) } ?? .ok
      for (id, log) in logs where failure == nil { sessions[id]?.log = log }
      if isInDoubt { for (id, log) in logs { doubtLog(of: id, insteadOf: log) } }
      for one in registrations {
        if failure == nil { changeDisconnect(of: one.session) { one.change.apply(to: &$0) } }
        if sessions[one.session] != nil { send(one.session, .response(one.request, answer)) }
      }
      if failure == nil { renewLogs(of: logs.keys.sorted()) }
    case .renewals(let logs):
      if let failure { note(failure) }
      // In doubt the store may have either: the next commit stores the new one again.
      guard failure == nil || isInDoubt else { return }
      for (id, log) in logs { sessions[id]?.log = log }
      if isInDoubt { doubt(commit.records) }
    case .users(let ids, let answers):
      // A user who changed stays so; the next commit stores it.
      if let failure {
        note(failure)
        doubt(ids.compactMap { sessions[$0]?.head })
      }
      for (id, request, response) in answers where sessions[id] != nil {
        send(id, .response(request, response))
      }
    case .rules(let new, let call):
      if failure == nil {
        storedRules = new.source
        setRules(new, isCommon: false, now: now)
      } else if isInDoubt {
        doubt(ServerRecord.rules(storedRules))
      }
      outputs.append(.answer(call, failure.map { refusal($0) } ?? .ok))
    }
  }

  private mutating func doubt(_ records: [ServerRecord]) {
    for record in records { doubtfulRecords.updateValue(record.bytes, forKey: record.name) }
  }

  /// The store may have another log of a session than it is to have.
  private mutating func doubtLog(of id: SessionID, insteadOf other: DisconnectLog) {
    guard let session = sessions[id] else { return }
    doubt(other.removal(of: session.name, but: session.log) + [session.head])
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

  // MARK: What sessions leave

  /// Stores changes of what sessions leave; they are made and answered then.
  mutating func store(_ registrations: [Registration]) {
    var (logs, records): ([SessionID: DisconnectLog], [ServerRecord]) = ([:], [])
    for one in registrations {
      guard let session = sessions[one.session] else { continue }
      var log = logs[one.session] ?? session.log
      records.append(log.append(one.change, of: session.name))
      logs[one.session] = log
    }
    for (id, log) in logs.sorted(by: { $0.key < $1.key }) {
      if let session = sessions[id] { records.append(session.head(of: log)) }
    }
    commit(.disconnects(registrations, logs), [], records)
  }

  /// Leaves out of logs what was replaced, when that takes most of them.
  private mutating func renewLogs(of ids: [SessionID]) {
    var (logs, records): ([SessionID: DisconnectLog], [ServerRecord]) = ([:], [])
    for id in ids {
      guard let session = sessions[id], session.log.isBloated else { continue }
      var log = session.log
      records += log.renew(session.disconnect, of: session.name) + [session.head(of: log)]
      logs[id] = log
    }
    if !logs.isEmpty { commit(.renewals(logs), [], records) }
  }

  /// Stores as whom sessions' operations run, where there are some.
  ///
  /// - Parameter answer: what is sent once that is stored.
  mutating func storeUsers(
    of ids: [SessionID], then answer: (SessionID, UInt64, Response)? = nil
  ) {
    let ids = ids.filter { sessions[$0]?.log.isEmpty == false }
    guard !ids.isEmpty else {
      if let (id, request, response) = answer { send(id, .response(request, response)) }
      return
    }
    commit(
      .users(ids, answer.map { [$0] } ?? []), [], ids.compactMap { sessions[$0]?.head })
  }

  /// What ended sessions left could not be done.
  ///
  /// What a full or failing disk refused is done after the next commit that succeeds, or by the next server. Anything else
  /// would fail again. When only one of several may be at fault, each is tried alone.
  private mutating func postpone(
    _ ended: [EndedSession], _ failure: StoreError, isInDoubt: Bool
  ) {
    let isForOne = !failure.leavesDoubt && failure.mayConcernOne && ended.count > 1
    for var one in ended {
      guard isForOne || failure.code == .full || failure.leavesDoubt else {
        doubt(one.session.removedRecords)
        continue
      }
      if isInDoubt { doubt(one.session.renewedRecords()) }
      disconnects.account(0, one.session.disconnect.bytes)
      postponed.append(one)
      if isForOne { endsAlone.insert(one.id) }
    }
    if isForOne { repeatEnds() }
  }

  /// The ends that were postponed wait again.
  private mutating func repeatEnds() {
    for one in postponed {
      repeated[one.id] = one.session
      waiting.append(.end(one.id))
    }
    postponed = []
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
    commit(.rules(new, call), [], ServerRecord.rules(new.source))
  }
}

extension Namespace.Session {
  /// The head of its log.
  fileprivate var head: ServerRecord { head(of: log) }

  fileprivate func head(of log: DisconnectLog) -> ServerRecord {
    DisconnectHead.record(log, auth ?? lapsed, of: name)
  }

  /// What takes away all that is stored.
  var removedRecords: [ServerRecord] {
    log.removal(of: name) + [DisconnectHead.record(DisconnectLog(), nil, of: name)]
  }

  /// What is stored anew of what is left to be done.
  fileprivate mutating func renewedRecords() -> [ServerRecord] {
    log.renew(disconnect, of: name) + [head]
  }
}

/// What a session left to be done when its server ended without it.
struct LeftSession: Sendable {
  let name: String
  let user: VerifiedToken?
  let writes: DisconnectWrites
  let log: DisconnectLog
}
