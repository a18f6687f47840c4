import ConiferKeyValue
import ConiferQuery
import ConiferTree
import ConiferWire

extension Namespace {
  /// Who wants a write, and is answered.
  enum Origin: Sendable {
    /// A session's request.
    case request(SessionID, UInt64)
    /// A session that ended; nobody is answered.
    case disconnect(SessionID)
    /// The server itself, which no rules bind.
    case call(UInt64)
    /// Somebody without a session.
    case caller(UInt64, VerifiedToken?)
  }

  /// A write as it came; paths from the root.
  struct PendingWrite: Sendable {
    /// The path that the client named.
    let base: Path
    let changes: [NodeChange]
    /// Whether listeners are told of it as a merge.
    let isMerge: Bool
    /// What the node at the base must have; nil for no condition.
    let hash: String?
    let origin: Origin
    /// The most bytes; nil for those that sessions may write.
    var limit: Int?
  }

  /// A write that was allowed and only has to be stored.
  struct StagedWrite: Sendable {
    let write: PendingWrite
    /// The changes with server values resolved.
    let changes: [NodeChange]
    /// All data after it.
    let root: Node
  }

  /// Checks a write and applies it, now or when it is committed.
  mutating func write(_ write: PendingWrite, now: Int64) {
    switch stage(write, now: now) {
    case .failure(let refusal):
      if let decision = refusal.decision { log(decision, "A write") }
      answer(write.origin, refusal.response)
    case .success(let staged): apply([staged])
    }
  }

  /// Applies writes, each of which was staged over the one before, now or when they are committed.
  mutating func apply(_ staged: [StagedWrite]) {
    guard let last = staged.last else { return }
    guard isStored, !last.root.isIdentical(to: root) else { return finish(staged, nil) }
    inFlight = staged
    outputs.append(.commit(staged.flatMap(\.changes)))
  }

  /// Applies writes one after the other, or tells who wanted them that they were not stored.
  mutating func finish(_ staged: [StagedWrite], _ failure: StoreError?) {
    guard let failure else {
      for write in staged { finish(write) }
      return
    }
    outputs.append(.log("A commit failed: \(failure)"))
    // The store's words name files; they are for the log alone.
    let words = "The server cannot store data now (\(failure.code))."
    for write in staged { answer(write.write.origin, Response(.unavailable, reason: words)) }
  }

  /// Applies a write, tells its listeners, and then whoever wrote.
  private mutating func finish(_ staged: StagedWrite) {
    let old = root
    root = staged.root
    if !root.isIdentical(to: old) {
      traffic.changes += 1
      publish(staged, since: old)
    }
    answer(staged.write.origin, .ok, staged.changes)
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

  // MARK: Checks

  struct Refusal: Error {
    let response: Response
    /// What the rules said, when it is they that refuse.
    var decision: AccessDecision?

    init(_ status: Response.Status, _ reason: String) {
      response = Response(status, reason: reason)
    }

    init(_ error: TreeError) {
      self.init(error.code == .leafTooLarge ? .tooBig : .failure, error.message)
    }

    static let denied = Refusal(.permissionDenied, "Permission denied")
    static let stale = Refusal(.dataStale, "Transaction hash does not match")
  }

  func stage(_ write: PendingWrite, now: Int64) -> Result<StagedWrite, Refusal> {
    do throws(Refusal) {
      try validate(write)
      let changes = try resolved(write.changes, now: now)
      let after = changes.reduce(root) { $0.setting($1.path, to: $1.node) }
      try checkPriorities(changes, after: after)
      // Transactions end at other refusals, and begin anew when they are told that they are late.
      let isStale = write.hash.map { !ClientHash($0).matches(root[write.base]) } ?? false
      if let context = contextForRules(of: write, now: now) {
        let decision = rules.decideWrite(changes.map(\.path), after: after, context)
        if !decision.isAllowed {
          if isStale, rules.decideRead(QueryTarget(write.base), context).isAllowed {
            throw Refusal.stale
          }
          var refusal = Refusal.denied
          refusal.decision = decision
          throw refusal
        }
      }
      if isStale { throw Refusal.stale }
      return .success(StagedWrite(write: write, changes: changes, root: after))
    } catch {
      return .failure(error)
    }
  }

  /// What the rules look at; nil when they do not apply.
  private func contextForRules(of write: PendingWrite, now: Int64) -> AccessContext? {
    switch write.origin {
    case .call: return nil
    case .caller(_, let token):
      return token?.isAdmin == true ? nil : AccessContext(auth: token, root: root, now: now)
    case .request(let id, _), .disconnect(let id):
      let context = context(of: id, now: now)
      return context.auth?.isAdmin == true ? nil : context
    }
  }

  func validate(_ write: PendingWrite) throws(Refusal) {
    do throws(TreeError) {
      var size = 0
      for change in write.changes {
        // A cheap bound first: nothing this deep is walked.
        if change.path.count + change.node.depth > Path.deepest + 1 {
          throw TreeError(
            .pathTooDeep,
            "\(change.path) with its data has more than \(Path.deepest) levels. Nest it less deeply."
          )
        }
        try change.path.validate(writing: change.node)
        size += change.node.estimatedSize
      }
      if write.isMerge { try Path.validate(merging: write.changes.map(\.path)) }
      let limit = write.limit ?? limits.write
      guard size <= limit else {
        throw TreeError(
          .leafTooLarge,
          "The write has about \(size) bytes; the limit is \(limit). Write it in parts.")
      }
    } catch {
      throw Refusal(error)
    }
  }

  /// The changes with server values resolved, in the order in which they apply: removals after new
  /// data, as a node that is empty in between would lose its priority, and priorities at last, as
  /// the data that they belong to may be new.
  private func resolved(
    _ changes: [NodeChange], now: Int64
  ) throws(Refusal) -> [NodeChange] {
    var (data, removals, priorities): ([NodeChange], [NodeChange], [NodeChange]) = ([], [], [])
    for var change in changes {
      if change.node.hasServerValues {
        change.node = change.node.resolvingServerValues(over: root[change.path], now: now)
        if change.node.hasServerValues {
          throw Refusal(
            .failure, "\(change.path) holds a server value that this server does not know.")
        }
      }
      if change.path.last?.isPriority == true {
        priorities.append(change)
      } else if change.node.isEmpty {
        removals.append(change)
      } else {
        data.append(change)
      }
    }
    return data + removals + priorities
  }

  private func checkPriorities(_ changes: [NodeChange], after: Node) throws(Refusal) {
    for change in changes where change.path.last?.isPriority == true && !change.node.isEmpty {
      if let parent = change.path.parent, after[parent].isEmpty {
        throw Refusal(
          .failure, "\(parent) has no data, so it can have no priority. Write data first.")
      }
    }
  }
}
