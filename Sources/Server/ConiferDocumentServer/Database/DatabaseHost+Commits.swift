import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import Logging

/// Writes that wait to be made, whole or not at all.
struct PendingCommit: Sendable {
  let writes: [Mutation]
  let committer: DatabaseRequest.Committer
}

extension DatabaseHost {
  /// What is answered once the store has a group of commits.
  private enum Answer: Sendable {
    case made(DatabaseRequest.Committer, MadeCommit, number: Int64)
    case refused(DatabaseRequest.Committer, StatusError)
  }

  /// Makes commits, each upon the ones before it; they are stored together.
  func make(_ commits: [PendingCommit]) async {
    let store: DatabaseStore
    do throws(StatusError) { store = try await self.store() } catch {
      for commit in commits { answer(.refused(commit.committer, error)) }
      return
    }
    do throws(StoreError) { try await make(commits, in: store) } catch {
      // Commits are retried one by one, so that one that the store refuses does not fail the
      // others.
      if commits.count > 1, isCertain {
        for commit in commits { await make([commit]) }
        return
      }
      configuration.logger.warning("A commit to \(database) failed: \(error)")
      // In doubt nothing is refused for good, as the store may have it already.
      let refusal =
        isDoubtful ? StatusError(.unavailable, error.message) : StatusError(failing: error)
      for commit in commits { answer(.refused(commit.committer, refusal)) }
    }
  }

  private func make(_ commits: [PendingCommit], in store: DatabaseStore) async throws(StoreError) {
    guard let contents else { return }
    var group = CommitGroup(
      CommitStaging(database, access, try documents(of: commits, in: store)), contents,
      writing.mapValues(\.state))
    var answers: [Answer] = []
    for commit in commits {
      if let id = commit.stream, group.streams[id] == nil { continue }
      do throws(StatusError) { answers.append(try stage(commit, &group)) } catch {
        if let id = commit.stream { group.streams[id] = nil }
        answers.append(.refused(commit.committer, error))
      }
    }
    // A batch that the store shows is no more durable than the commit that was reported as failed. The next one that
    // succeeds makes both so.
    if isDoubtful { group.touch(configuration.clock()) }
    if group.head != contents.head {
      try await commit(group.edits(contents, open: openNames), to: store)
      self.commits.add()
      isDoubtful = false
      self.contents?.head = group.head
      self.contents?.forgotten = []
    }
    self.contents?.writes = group.writes
    for change in group.changes {
      self.contents?.history.append(change)
      markDue(change)
    }
    for (id, state) in group.streams { writing[id]?.state = state }
    answers.forEach(answer)
    markHeartbeatsDue()
  }

  private func commit(
    _ edits: DatabaseStore.Edits, to store: DatabaseStore
  ) async throws(StoreError) {
    housekeeping?.commitBegan()
    defer { housekeeping?.commitEnded(edits: edits.documents.count + edits.forgotten.count + 1) }
    let wasStored = store.isStored
    defer { if store.isStored != wasStored { commits.addDatabase() } }
    do throws(StoreError) { try await store.commit(edits) } catch {
      // After any other error the store may have the commit, so it must not be made again.
      if ![.tooLarge, .full, .invalid, .damaged].contains(error.code) {
        isDoubtful = true
        invalidateContents()
      }
      throw error
    }
  }

  private func documents(
    of commits: [PendingCommit], in store: DatabaseStore
  ) throws(StoreError) -> [DocumentPath: Document] {
    var paths = Set(commits.lazy.flatMap(\.writes).map(\.path))
    for commit in commits { paths.formUnion(commit.reads.documents.keys) }
    return try store.read { (view) throws(StoreError) in
      var documents: [DocumentPath: Document] = [:]
      for path in paths where (try? path.validate()) != nil {
        documents[path] = try view.document(path)
      }
      return documents
    }
  }

  private func stage(
    _ commit: PendingCommit, _ group: inout CommitGroup
  ) throws(StatusError) -> Answer {
    let now = configuration.clock()
    guard let caller = caller(of: commit) else {
      throw StatusError(.cancelled, "The stream has ended.")
    }
    if caller.isExpired(at: now) { throw Caller.expired }
    try CommitStaging.checkSize(commit.writes)
    guard case .stream(let id, let batch, let token) = commit.committer else {
      if let history = contents?.history { try group.checkUnchanged(commit.reads, since: history) }
      let made = try group.stage(commit.writes, now: now, by: caller)
      return .made(commit.committer, made, number: 0)
    }
    let name = try group.acknowledge(token, of: id)
    let key = DeduplicationLog.BatchKey(commit.writes, batch)
    if let made = group.takeDuplicate(key, of: id) {
      return .made(
        commit.committer, MadeCommit(result: made.result, documents: []), number: made.number)
    }
    let made = try group.stage(commit.writes, now: now, by: caller)
    return .made(commit.committer, made, number: group.remember(name, key, made.result))
  }

  private func caller(of commit: PendingCommit) -> Caller? {
    switch commit.committer {
    case .caller(let caller, _, _), .transaction(_, let caller, _, _): caller
    case .stream(let id, _, _): writing[id]?.caller
    }
  }

  private func answer(_ answer: Answer) {
    switch answer {
    case .made(.caller(_, _, let told), let made, _),
      .made(.transaction(_, _, _, let told), let made, _):
      told(.success(made))
    case .refused(.caller(_, _, let told), let error),
      .refused(.transaction(_, _, _, let told), let error):
      told(.failure(error))
    case .made(.stream(let id, _, _), let made, let number):
      guard let stream = writing[id], let name = stream.name else { return }
      let token = WriteToken(stream: name, answered: number)
      stream.deliver(.answered(made.result, token: token.bytes))
    case .refused(.stream(let id, _, _), let error):
      end(writing: id, error)
    }
  }
}

extension PendingCommit {
  /// The stream that the writes came on; nil when they did not.
  fileprivate var stream: StreamID? {
    guard case .stream(let id, _, _) = committer else { return nil }
    return id
  }

  /// What must not have changed.
  fileprivate var reads: TransactionReads {
    guard case .transaction(let reads, _, _, _) = committer else { return TransactionReads() }
    return reads
  }
}
