import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import ConiferWire

/// Brings the writes of the queue to the server, over the stream of writes.
final class WriteSending {
  private(set) var pipeline = WritePipeline(isEnabled: false)
  /// The writes that the server has answered, and of which that could not be stored yet.
  private var unstored: Set<OutboundWriteID> = []
  private var durableToken = DurableStreamToken()
  let serverStream: PersistentWriteStream
  private let store: DocumentStore
  private let writes: DocumentWrites
  private let recovery: StorageRecovery
  private let post: @Sendable (DocumentStep) -> Void

  init(
    _ store: DocumentStore, _ writes: DocumentWrites, _ serverStream: PersistentWriteStream,
    _ recovery: StorageRecovery, _ post: @escaping @Sendable (DocumentStep) -> Void
  ) {
    self.store = store
    self.writes = writes
    self.serverStream = serverStream
    self.recovery = recovery
    self.post = post
  }

  /// Whether an answer of the server could not be stored yet: what it answered would be sent once more.
  var hasUnstored: Bool { !unstored.isEmpty }
  /// Whether the server has answered a write, and that could not be stored yet.
  func isUnstored(_ id: OutboundWriteID) -> Bool { unstored.contains(id) }
  /// Whether it is unknown if a commit that was reported as failed queued writes. A write that was
  /// sent and answered meanwhile would be missing when that is checked.
  var hasInDoubtCommits: Bool { !writes.inDoubt.isEmpty }

  /// How many writes were sent and not answered.
  var outstanding: Int { pipeline.outstanding.count }

  // MARK: The queue

  /// Writes were queued.
  func queued() { run(pipeline.queued()) }
  /// A refused write was queued again, in its old place.
  func requeued() { run(pipeline.requeued()) }
  /// A write is to leave the queue.
  ///
  /// - Returns: whether it is neither on its way nor answered.
  func withdraw(_ id: OutboundWriteID) -> Bool {
    guard !unstored.contains(id) else { return false }
    return id.lane != store.lane || pipeline.withdraw(BatchID(id.number.rawValue))
  }

  /// The network may be used, or not.
  func setEnabled(_ isEnabled: Bool) {
    let sent = unanswered
    if !isEnabled { serverStream.close() }
    run(pipeline.setEnabled(isEnabled))
    if !isEnabled { writes.outcomeUnknown(sent) }
  }

  /// The storage is open.
  ///
  /// - Throws: when it cannot be read.
  func begin() throws(StoreError) {
    // An authority in this process whose disk is full would be asked again for ever, with writes that only memory has.
    let isLocal = writes.setup.localAuthority != nil
    pipeline = WritePipeline(
      isEnabled: false, token: try keptToken(), refusedWith: isLocal ? [.resourceExhausted] : [])
  }

  /// Another user is signed in, while the network is not used.
  ///
  /// - Parameter token: the token that was kept of that user's last stream.
  func userChanged(token: [UInt8]) {
    // A durable token of the last user's stream says nothing about this user's stream.
    durableToken = DurableStreamToken()
    run(pipeline.userChanged(token: token))
  }

  private var unanswered: [OutboundWriteID] {
    guard let lane = store.lane else { return [] }
    return pipeline.outstanding.map {
      OutboundWriteID(lane, WriteID(rawValue: UInt64(max(0, $0))))
    }
  }

  // MARK: The stream

  /// Something happened on the stream of writes.
  func happened(_ event: WriteStreamEvent) {
    switch event {
    case .opened:
      serverStream.opened()
      run(pipeline.streamOpened())
    case .greeted(let token): keep(.greeted(token))
    case .answered(let result, let token):
      serverStream.served()
      run(pipeline.answered(commitTime: result.commitTime, result.results, token: token))
    case .closed(let error):
      let sent = unanswered
      serverStream.closed(error)
      let actions = pipeline.streamClosed(error)
      let isRefused = actions.contains { if case .refused = $0 { true } else { false } }
      writes.outcomeUnknown(Array(sent.dropFirst(isRefused ? 1 : 0)))
      run(actions)
    }
  }

  /// A time may have come that the stream waits for.
  func tick() { if serverStream.tick() { serverStream.open() } }
  /// The next attempt to open the stream comes at once.
  func skipBackoff() { if serverStream.skipBackoff() { serverStream.open() } }
  /// When `tick` is to be called.
  var deadline: Int64? { serverStream.deadline }

  // MARK: What the pipeline asks for

  private func run(_ actions: [WriteAction]) {
    for action in actions {
      // The network is about to be turned off. Answers are kept: the pipeline does not know these writes any more.
      if recovery.isBlocked, !action.isAnswer { continue }
      switch action {
      case .openStream: if serverStream.start() { serverStream.open() }
      case .idle: serverStream.idle()
      case .greet(let token): keep(.greeting(token))
      case .keep(let token):
        if token.isEmpty { durableToken = DurableStreamToken() }
        let isKept = writes.survivePower && durableToken.isDurable(token)
        if !isKept, commit(token) == nil { return }
      case .send(let id, let batch, let token): send(id, batch, token)
      case .read(let after, let count): read(after, count)
      case .accepted(let id, let batch, let commitTime, let results, let token):
        ended(id) { [self] (id) throws(StoreError) in
          let commit = try writes.accepted(id, batch, commitTime, results, token: token)
          if let commit, durableToken.isDue(writes.survivePower) {
            harden(.answered(token), commit)
          }
        } orGiveUp: { [writes] id in
          writes.accepted(id, batch)
        }
      case .refused(let id, let error):
        ended(id) { [writes] (id) throws(StoreError) in
          try writes.refused(id, error)
        } orGiveUp: { [writes] id in
          writes.refused(id, batch: nil, error)
        }
      case .inhibitBackoff: serverStream.inhibitBackoff()
      }
    }
  }

  /// Stores the token of the stream before anything is sent on it. Without the token, the server
  /// would apply a batch twice if the process ends before the answer to the batch is stored.
  ///
  /// - Returns: the commit; nil when it cannot be stored: nothing is sent then.
  private func commit(_ token: [UInt8]) -> CommitID? {
    guard let lane = store.lane else { return nil }
    do throws(StoreError) {
      return try store.commit([DocumentWrites.saveTokenEdit(token, of: lane)]).commit
    } catch {
      recovery.report(error)
      return nil
    }
  }

  /// Goes on with a token, once it is as durable as the app's writes.
  private func keep(_ token: StreamToken) {
    guard writes.survivePower, !token.bytes.isEmpty, !durableToken.isDurable(token.bytes) else {
      return proceed(with: token)
    }
    if let commit = commit(token.bytes) {
      durableToken.wait(for: serverStream.number)
      harden(token, commit)
    }
  }

  private func harden(_ token: StreamToken, _ commit: CommitID) {
    writes.durability.tell(whenDurable: commit, in: store.engine) {
      [post, number = serverStream.number] result in
      post(.tokenHardened(number, token, result.map { _ in }))
    }
  }

  /// Whether a token is being made durable before anything else is said on the stream.
  var isHardeningToken: Bool { durableToken.isWaiting(for: serverStream.number) }

  /// A token of the present stream is as durable as the app's writes, or could not be made so.
  func tokenHardened(_ token: StreamToken, _ result: Result<Void, DatabaseError>) {
    if case .failure(let error) = result { store.engine.report(error) }
    switch (result, token) {
    case (.success, _):
      durableToken.end(token)
      proceed(with: token)
    // The server gets the last durable token until there is a newer one.
    case (.failure, .answered): break
    // The server might apply a batch that is sent now twice. It is greeted again later.
    case (.failure(let error), _):
      serverStream.stream?.close()
      happened(.closed(StatusError(.unavailable, error.message)))
    }
  }

  private func proceed(with token: StreamToken) {
    switch token {
    case .greeting(let token): serverStream.stream?.greet(token: token)
    case .greeted(let token): run(pipeline.greeted(token: token))
    case .answered: break
    }
  }

  /// The token that was kept of the user's last stream.
  private func keptToken() throws(StoreError) -> [UInt8] {
    try store.read { (view, lane) throws(StoreError) in
      try view.metadata(lane.tree, MetadataName.stream(lane.identity)) ?? []
    }
  }

  private func send(_ id: BatchID, _ batch: MutationBatch, _ token: [UInt8]) {
    guard let lane = store.lane else { return }
    serverStream.used()
    writes.progress.sent(OutboundWriteID(lane, WriteID(rawValue: UInt64(max(0, id)))))
    serverStream.stream?.send(
      batch.mutations, batch: id, token: writes.survivePower ? durableToken.token : token)
  }

  /// Stores the server's answer; when that fails, the answer is kept until it can be stored.
  ///
  /// - Parameter giveUp: tells of the answer alone, which the store refuses for good; a later run sends the write again.
  private func ended(
    _ id: BatchID, _ store: @escaping (OutboundWriteID) throws(StoreError) -> Void,
    orGiveUp giveUp: @escaping (OutboundWriteID) -> Void
  ) {
    guard let lane = self.store.lane else { return }
    let id = OutboundWriteID(lane, WriteID(rawValue: UInt64(max(0, id))))
    unstored.insert(id)
    _ = recovery.attempt { [self] () throws(StoreError) in
      do throws(StoreError) { try store(id) } catch {
        // Damage is mended first.
        guard error.isLasting, !self.store.mayHaveNewIncidents() else { throw error }
        self.store.log("the server's answer to a write cannot be kept", error)
        giveUp(id)
      }
      unstored.remove(id)
    }
  }

  /// Reads the next writes of the queue.
  private func read(_ after: BatchID?, _ count: Int) {
    guard store.lane != nil else { return }
    do throws(StoreError) {
      let found = try store.read { (view, lane) throws(StoreError) in
        var batches: [(id: BatchID, batch: MutationBatch)] = []
        var last = after.map { WriteID(rawValue: UInt64(max(0, $0))) }
        while batches.count < count {
          let entries = try view.entries(lane, after: last, limit: count - batches.count)
          for entry in entries {
            last = entry.id
            // What a later version queued stays until that version sends it.
            guard let batch = MutationBatch(entry.payload) else { continue }
            batches.append((BatchID(entry.id.rawValue), batch))
          }
          if entries.isEmpty { break }
        }
        return batches
      }
      run(pipeline.take(found, after: after, count: count))
    } catch {
      recovery.report(error)
    }
  }
}

extension WriteAction {
  /// Whether it tells what the server made of a write.
  fileprivate var isAnswer: Bool {
    switch self {
    case .accepted, .refused: true
    case .openStream, .idle, .greet, .keep, .send, .read, .inhibitBackoff: false
    }
  }
}
