import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import ConiferWire

/// Brings the app's writes from the call into the queue, and from the server's answer to their end.
final class DocumentWrites {
  /// A write that is to be queued, and when it was made.
  struct StampedWrite {
    let writes: [Mutation]
    let written: ConiferDocument.Timestamp
  }

  let durability: DurabilityWaits
  let progress = WriteProgress()
  let unqueued = UnqueuedWrites<StampedWrite>()
  /// The documents that they write.
  var unqueuedPaths: Set<DocumentPath> = []
  /// Commits of writes that were reported as failed, while it could not be read yet whether they
  /// were made.
  var inDoubt: [InDoubtWrites] = []
  /// Writes whose records were lost and that have not ended: they are on their way.
  private var lost: Set<OutboundWriteID> = []
  let waiters: WriteWaiters
  let setup: FirestoreConfiguration
  let store: DocumentStore
  let listening: Listening
  let recovery: StorageRecovery
  let outbox: Outbox
  private let post: @Sendable (DocumentStep) -> Void

  init(
    _ setup: FirestoreConfiguration, _ store: DocumentStore, _ listening: Listening,
    _ recovery: StorageRecovery, _ outbox: Outbox, _ durability: DurabilityWaits,
    _ post: @escaping @Sendable (DocumentStep) -> Void
  ) {
    self.setup = setup
    self.store = store
    self.listening = listening
    self.recovery = recovery
    self.outbox = outbox
    self.durability = durability
    waiters = WriteWaiters(store, outbox)
    self.post = post
  }

  // MARK: Who waits

  /// Notes who is to be told of a write's end.
  ///
  /// - Parameter isNew: whether the write was queued just now.
  func follow(_ id: OutboundWriteID, _ caller: WriteCaller, isNew: Bool = false) {
    progress.follow(id, WriteFollower(caller), isNew: isNew)
    caller.receipt.whenReleased { [post] in post(.receiptReleased(id)) }
  }

  // MARK: From the server

  /// A write as the store has it; nil when it is not in the queue any more.
  private func find(_ id: OutboundWriteID) throws(StoreError) -> QueueEntry? {
    try store.read { (view, _) throws(StoreError) in try view.entry(id.lane, id.number) }
  }

  /// The server accepted a write: one commit ends it and stores what the server made of its documents.
  ///
  /// - Parameter batch: the write as it was sent.
  /// - Returns: the commit; nil when the disk is full, and the write's record was lost, so that it cannot be sent again.
  /// - Throws: when that cannot be stored; it may be called again.
  func accepted(
    _ id: OutboundWriteID, _ batch: MutationBatch, _ commitTime: ConiferDocument.Timestamp,
    _ results: [WriteResult], token: [UInt8]
  ) throws(StoreError) -> CommitID? {
    // It is not queued when its record was lost, or when an earlier call's commit was made but
    // reported as failed.
    let isQueued = try find(id) != nil
    let places = Dictionary(grouping: batch.mutations.indices) { batch.mutations[$0].path }
    let documents = try store.read { (view, lane) throws(StoreError) in
      var documents: [Document] = []
      for path in batch.writtenPaths {
        do throws(StoreError) {
          let base = try view.document(lane.tree, path)
          let new = batch.acknowledged(base, at: places[path] ?? [], commitTime, results)
          if let new { documents.append(new) }
        } catch {
          // What a later version stored stays as it is: the server says again what it has.
          guard error.code == .newerFormat else { throw error }
        }
      }
      return documents
    }
    var end = [Self.saveTokenEdit(token, of: id.lane)]
    if isQueued { end.append(.finish(id.lane, id.number, .acknowledged)) }
    let puts: [StorageEdit] =
      documents.isEmpty ? [] : [.documents(store.tree, documents.map { .put($0) })]
    let commit: CommitID?
    do throws(StoreError) { commit = try store.commit(end + puts).commit } catch {
      if error.isLasting, !puts.isEmpty, !store.mayHaveNewIncidents() {
        // The server says again what it has.
        store.log("what the server made of a write cannot be kept", error)
        commit = try store.commit(end).commit
      } else {
        guard !isQueued, error.code == .full else { throw error }
        commit = nil
      }
    }
    accepted(id, batch)
    return commit
  }

  /// The server accepted a write: tells who waits for it.
  func accepted(_ id: OutboundWriteID, _ batch: MutationBatch) {
    _ = progress.endSending(id, .acknowledged)
    end(id, .acknowledged, nil, batch, .server)
  }

  /// Whether the app's writes are to survive a loss of power, and can.
  var survivePower: Bool {
    setup.options.durability.wanted == .power && store.engine.strongest == .power
  }

  /// The edit that keeps the token of a user's stream of writes.
  static func saveTokenEdit(_ token: [UInt8], of lane: Lane) -> StorageEdit {
    .setMetadata(lane.tree, MetadataName.stream(lane.identity), token.isEmpty ? nil : token)
  }

  /// The server refused a write: it stays as a dead letter with the reason.
  ///
  /// - Throws: when that cannot be stored; it may be called again.
  func refused(_ id: OutboundWriteID, _ error: StatusError) throws(StoreError) {
    guard let entry = try find(id), let batch = MutationBatch(entry.payload) else {
      return endLost(id, "The server refused it: \(error.message)")
    }
    // It is rejected already when an earlier call's commit was made but reported as failed.
    if !entry.state.isRejected {
      let state = WriteState.rejected(reason: RejectionReason(error).text)
      try store.commit(uncounted(id) + [.setState(id.lane, id.number, state)])
    }
    refused(id, batch: batch, error)
  }

  /// The server refused a write: tells who waits for it.
  func refused(_ id: OutboundWriteID, batch: MutationBatch?, _ error: StatusError) {
    _ = progress.endSending(id, .rejected(reason: RejectionReason(error).text))
    let failure = DatabaseError(FirestoreError(error))
    end(id, .rejected(failure), failure, batch ?? .unreadable, .write)
  }

  /// Looks for writes whose records were lost.
  ///
  /// - Throws: when that cannot be read; it may be called again.
  func findLost() throws(StoreError) {
    lost = try store.read { (view, _) throws(StoreError) in
      var lost: Set<OutboundWriteID> = []
      for id in progress.followed {
        if try view.entry(id.lane, id.number) == nil,
          try view.finishedWrite(id.lane, id.number) == nil
        {
          lost.insert(id)
        }
      }
      return lost
    }
  }

  /// Another process may have changed the queue: the writes that it ended have ended here too.
  ///
  /// - Throws: when that cannot be read; it may be called again.
  func storeChanged() throws(StoreError) {
    outbox.storeChanged()
    let ends = try store.read { (view, _) throws(StoreError) in
      var ends: [(OutboundWriteID, WriteReceipt.Outcome)] = []
      for id in progress.followed {
        if let end = try view.finishedWrite(id.lane, id.number) {
          ends.append((id, WriteReceipt.Outcome(end.outcome, id.lane)))
        } else if case .rejected(let reason)? = try view.entry(id.lane, id.number)?.state {
          let error = DatabaseError(FirestoreError(RejectionReason(reason).error))
          ends.append((id, .rejected(error)))
        }
      }
      return ends
    }
    for (id, outcome) in ends {
      switch outcome {
      case .acknowledged, .superseded: end(id, outcome, nil)
      case .rejected(let error), .failed(let error): end(id, outcome, error)
      case .discarded:
        end(id, outcome, DatabaseError(.discarded, "Another process discarded the write."))
      }
    }
    try waiters.ended()
    try findLost()
  }

  /// Writes whose records were lost have failed.
  ///
  /// - Parameter withdraw: whether a write is not on its way: one that is ends with the server's answer, or with the
  ///   stream.
  func endLost(_ withdraw: (OutboundWriteID) -> Bool) {
    for id in lost.sorted(by: { $0.number < $1.number }) where withdraw(id) {
      endLost(
        id,
        progress.isUnsent(id)
          ? "The server was not sent it." : "Nobody knows whether the server has made it.")
    }
  }

  private func endLost(_ id: OutboundWriteID, _ what: String) {
    let error = DatabaseError(
      .storageDamaged,
      "The record of the write \(WriteReceipt.ID(id)) was damaged and set aside. \(what)")
    _ = progress.endSending(id, .acknowledged)
    end(id, .failed(error), error, .unreadable, .write)
  }

  /// The edit that counts an attempt, of a write that was sent without the store's knowing.
  private func uncounted(_ id: OutboundWriteID) -> [StorageEdit] {
    if case .sent(isStored: false) = progress.delivery(id) {
      return [.setState(id.lane, id.number, .sent)]
    }
    return []
  }

  /// Writes that were sent are of unknown outcome: they are sent again.
  func outcomeUnknown(_ ids: [OutboundWriteID]) {
    if ids.isEmpty { return }
    let edits = ids.map { progress.endSending($0, .outcomeUnknown) }
    do throws(StoreError) {
      // The store takes no edit of a write whose record was lost.
      let known = try store.read { (view, _) throws(StoreError) in
        var known: [StorageEdit] = []
        for (id, edits) in zip(ids, edits) {
          if try view.entry(id.lane, id.number) != nil { known += edits }
        }
        return known
      }
      try store.commit(known)
    } catch {
      // They are sent again all the same; only their attempts are not counted.
      store.log("attempts to send writes are not counted", error)
    }
  }

  /// A write has ended: tells who waits for it, and then the listeners.
  private func end(
    _ id: OutboundWriteID, _ outcome: WriteReceipt.Outcome, _ error: DatabaseError?,
    _ batch: MutationBatch, _ cause: ChangeCause
  ) {
    end(id, outcome, error)
    changed(batch, cause, in: id.lane)
  }

  /// A write has ended: tells who waits for it.
  func end(_ id: OutboundWriteID, _ outcome: WriteReceipt.Outcome, _ error: DatabaseError?) {
    lost.remove(id)
    for follower in progress.end(id, outcome) {
      follower.receipt?.end(outcome)
      if let completion = follower.completion { outbox.addCall { completion(error) } }
    }
  }

  /// A write left the queue or came back, which changes its documents. Listeners are told once these can be read.
  func changed(_ batch: MutationBatch, _ cause: ChangeCause, in lane: Lane) {
    listening.unneeded.add(batch.paths)
    _ = recovery.attempt { [store, listening, waiters] () throws(StoreError) in
      try waiters.ended()
      guard lane == store.lane else { return }
      listening.changed(try store.known(batch.paths), cause)
    }
  }

  // MARK: The end

  /// The database is closed; the writes stay in the queue.
  func close(_ error: DatabaseError) {
    for follower in progress.removeFollowers() { follower.receipt?.close(error) }
    for receipt in inDoubt.flatMap(\.writes).map(\.caller.receipt) {
      receipt.close(error)
      // No later check will tell whether it was queued.
      receipt.fail(error)
    }
    inDoubt = []
    waiters.close()
  }
}

extension WriteState {
  /// Whether the server refused the write.
  var isRejected: Bool { if case .rejected = self { true } else { false } }
}
