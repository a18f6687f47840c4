import ConiferKeyValue
import ConiferQuery
import ConiferTree
import ConiferWire

extension Namespace {
  /// The origin of a write, which gets the answer.
  enum Origin: Sendable {
    /// A session's request.
    case request(SessionID, UInt64)
    /// A session that ended; nobody is answered.
    case disconnect(SessionID)
    /// The server itself, to which rules do not apply.
    case call(UInt64)
    /// A caller without a session.
    case caller(UInt64, VerifiedToken?)
  }

  /// A write as it was received, with paths from the root.
  struct PendingWrite: Sendable {
    /// The path that the client named.
    let base: Path
    let changes: [NodeChange]
    /// Whether listeners get it as a merge.
    let isMerge: Bool
    /// The hash that the node at the base must have; nil for no condition.
    let hash: String?
    let origin: Origin
    /// The maximum size in bytes; nil for the limit of sessions.
    var limit: Int?

    /// Whether somebody waits for its answer.
    var isAnswered: Bool { if case .disconnect = origin { false } else { true } }
  }

  /// A write that was allowed and only has to be stored.
  struct StagedWrite: Sendable {
    let write: PendingWrite
    /// The changes with server values resolved.
    let changes: [NodeChange]
    /// All data after it.
    let root: Node
  }

  /// Checks a write and applies it, at once or after its commit.
  mutating func write(_ write: PendingWrite, now: Int64) {
    switch stage(write, now: now) {
    case .failure(let refusal):
      if let decision = refusal.decision { log(decision, "A write") }
      answer(write.origin, refusal.response)
    case .success(let staged): apply([staged], now: now)
    }
  }

  /// Applies writes, each staged over the one before, at once or after their commit.
  ///
  /// - Parameter ended: the sessions whose onDisconnect operations they are: what is stored of these goes in the same
  ///   commit, so that they run once.
  mutating func apply(_ staged: [StagedWrite], ended: [EndedSession] = [], now: Int64) {
    let changes = staged.flatMap(\.changes)
    let isSame = staged.last?.root.isIdentical(to: root) != false && doubtful.isEmpty
    let ended = ended.filter { one in
      // A request in doubt may be there, too.
      !one.session.log.isEmpty
        || doubtfulRecords.keys.contains { $0.hasPrefix(ServerRecord.prefix(of: one.session.name)) }
    }
    guard isStored, !ended.isEmpty || !changes.isEmpty && !isSame else {
      return finish(staged, nil, now: now)
    }
    commit(.writes(staged, ended: ended), changes, ended.flatMap(\.session.removedRecords))
  }

  /// Applies writes one after the other, or answers that they could not be stored.
  mutating func finish(_ staged: [StagedWrite], _ failure: StoreError?, now: Int64) {
    guard let failure else {
      for write in staged { finish(write, now: now) }
      return
    }
    if !failure.leavesDoubt, failure.mayConcernOne, staged.count > 1,
      staged.allSatisfy(\.write.isAnswered)
    {
      for write in staged { alone.append(write.write) }
      return
    }
    let answer = refusal(failure)
    for write in staged { self.answer(write.write.origin, answer) }
  }

  /// Applies a write, tells its listeners, then answers the writer.
  private mutating func finish(_ staged: StagedWrite, now: Int64) {
    let old = root
    root = staged.root
    if !root.isIdentical(to: old) {
      traffic.changes += 1
      publish(staged, since: old)
    }
    answer(staged.write.origin, .ok, writtenData(of: staged, now: now))
  }

  /// The written data for the writer's answer: with resolved server values where the writer may
  /// read, otherwise as it was sent.
  private func writtenData(of staged: StagedWrite, now: Int64) -> [NodeChange] {
    let asked = staged.write.changes
    guard case .caller = staged.write.origin, asked.contains(where: \.node.hasServerValues) else {
      return asked
    }
    let context = contextForRules(of: staged.write, now: now)
    let made = Dictionary(staged.changes.map { ($0.path, $0.node) }, uniquingKeysWith: { $1 })
    return asked.map { change in
      guard change.node.hasServerValues, let node = made[change.path],
        mayRead(change.path, context)
      else { return change }
      return NodeChange(change.path, node)
    }
  }

  private mutating func answer(
    _ origin: Origin, _ response: Response, _ written: [NodeChange] = []
  ) {
    switch origin {
    case .request(let id, let number):
      if sessions[id] != nil { send(id, .response(number, response)) }
    case .call(let number): outputs.append(.answer(number, response))
    case .caller(let number, _): outputs.append(.performed(number, response, written))
    case .disconnect: break
    }
  }
}
