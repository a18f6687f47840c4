import ConiferQuery
import ConiferTree
import ConiferWire

extension Namespace {
  /// Why a write is not done.
  struct Refusal: Error {
    let response: Response
    /// The rules' decision, when they refuse.
    var decision: AccessDecision?

    init(_ status: Response.Status, _ reason: String) {
      response = Response(status, reason: reason)
    }

    init(_ error: TreeError) {
      self.init(error.code == .leafTooLarge ? .tooBig : .failure, error.message)
    }

    init(deniedBy decision: AccessDecision) {
      self = .denied
      self.decision = decision
    }

    static let denied = Refusal(.permissionDenied, "Permission denied")
    static let stale = Refusal(.dataStale, "Transaction hash does not match")
  }

  /// Checks a write without applying it: first its form, then the rules, and only then conditions
  /// on the data, so that no answer reveals data that may not be read.
  func stage(_ write: PendingWrite, now: Int64) -> Result<StagedWrite, Refusal> {
    do throws(Refusal) {
      try validate(write)
      let changes = try resolved(write.changes, now: now)
      let after = changes.reduce(root) { $0.setting($1.path, to: $1.node) }
      let context = contextForRules(of: write, now: now)
      if let context { try ask(context, for: write, changes, after: after) }
      if isStale(write) { throw Refusal.stale }
      return .success(
        StagedWrite(
          write: write, changes: try withoutPrioritiesOfMissingData(changes, after: after, context),
          root: after))
    } catch {
      return .failure(error)
    }
  }

  /// Checks a write against the rules.
  private func ask(
    _ context: AccessContext, for write: PendingWrite, _ changes: [NodeChange], after: Node
  ) throws(Refusal) {
    let decision = rules.decideWrite(changes.map(\.path), after: after, context)
    guard decision.isAllowed else {
      // Clients retry a transaction when the answer is that its hash is stale; any other refusal
      // ends it.
      if write.hash != nil, mayRead(write.base, context), isStale(write) { throw Refusal.stale }
      throw Refusal(deniedBy: decision)
    }
    // Whether a condition holds reveals the data.
    guard write.hash != nil else { return }
    let reading = rules.decideRead(QueryTarget(write.base), context)
    if !reading.isAllowed { throw Refusal(deniedBy: reading) }
  }

  private func isStale(_ write: PendingWrite) -> Bool {
    write.hash.map { !ClientHash($0).matches(root[write.base]) } ?? false
  }

  func mayRead(_ path: Path, _ context: AccessContext?) -> Bool {
    context.map { rules.decideRead(QueryTarget(path), $0).isAllowed } ?? true
  }

  /// The context for the rules; nil when they do not apply.
  func contextForRules(of write: PendingWrite, now: Int64) -> AccessContext? {
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

  /// The changes with server values resolved, in the order of application. Removals come after new
  /// data, as a node that is empty in between would lose its priority. Priorities come last, as the
  /// data that they belong to may be new.
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

  /// The changes without priorities of missing data. A user who may read the place gets an error;
  /// for others such a priority does nothing, so that the answer does not reveal whether there is
  /// data.
  private func withoutPrioritiesOfMissingData(
    _ changes: [NodeChange], after: Node, _ context: AccessContext?
  ) throws(Refusal) -> [NodeChange] {
    var kept: [NodeChange] = []
    for change in changes {
      guard change.path.last?.isPriority == true, !change.node.isEmpty,
        let parent = change.path.parent, after[parent].isEmpty
      else {
        kept.append(change)
        continue
      }
      if mayRead(parent, context) {
        throw Refusal(
          .failure, "\(parent) has no data, so it can have no priority. Write data first.")
      }
    }
    return kept
  }
}
