import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferStorage

/// Writes whose commit was reported as failed, which the store may have made all the same.
struct InDoubtWrites {
  let lane: Lane
  let writes: [(batch: MutationBatch, caller: WriteCaller)]
  /// The newest write of the lane before them.
  let newest: WriteID?
  /// Why the commit failed.
  let error: StoreError
}

// From the app's call into the queue.
extension DocumentWrites {
  /// Whether there are writes that are not queued yet; each names a document.
  var hasUnqueued: Bool { !unqueuedPaths.isEmpty }
  /// Whether as many are to be queued as should share a commit.
  var isFull: Bool { unqueued.isFull }

  /// Whether the writes before this one must be committed first, because its transforms depend on
  /// what they make of its documents.
  func mustFollowCommit(_ writes: [Mutation]) -> Bool {
    hasUnqueued && writes.contains { !$0.transforms.isEmpty && unqueuedPaths.contains($0.path) }
  }

  /// Takes in a write, which is queued in one commit with those that follow it.
  func add(_ writes: [Mutation], _ caller: WriteCaller) {
    let now = try? ConiferDocument.Timestamp(microseconds: setup.clock.wallTime * 1000)
    unqueued.add(StampedWrite(writes: writes, written: now ?? .zero), caller)
    unqueuedPaths.formUnion(writes.map(\.path))
  }

  /// Has the writes that came queued, in one commit; when that fails, each is tried alone.
  func queueAll() {
    let group = unqueued.takeAll()
    unqueuedPaths = []
    guard let lane = store.lane else {
      for (_, caller) in group { fail(caller, store.error) }
      return
    }
    queue(group, in: lane)
  }

  private func queue(_ group: [(content: StampedWrite, caller: WriteCaller)], in lane: Lane) {
    let paths = Set(group.flatMap { $0.content.writes.map(\.path) })
    var shown: [DocumentPath: Document] = [:]
    let newest: WriteID?
    do throws(StoreError) {
      // The outcome of earlier commits must be known first, or their writes would be taken for
      // these.
      try resolveInDoubtCommits()
      newest = try store.read { (view, lane) throws(StoreError) in
        for path in paths { shown[path] = try view.document(lane, path) }
        return try view.totals(lane).newest
      }
    } catch {
      // What cannot be read may concern only one of the writes.
      if group.count > 1 {
        for write in group { queue([write], in: lane) }
      } else {
        for (_, caller) in group { fail(caller, FirestoreError(error, "The write was not queued")) }
      }
      return
    }
    let writes = group.map { write, caller in
      (
        batch: MutationBatch(write.writes, written: write.written) {
          shown[$0] ?? Document($0, .unseen)
        }, caller: caller
      )
    }
    do throws(StoreError) {
      let receipt = try store.commit(writes.map { .enqueue(lane, $0.batch.payload) })
      for (number, write) in zip(receipt.writes, writes) {
        queued(OutboundWriteID(lane, number), write.caller, receipt.commit)
        // What the write makes of its documents is what the store has of them now.
        let parts = write.batch.parts
        let changed = write.batch.paths.map { path in
          let before = shown[path] ?? Document(path, .unseen)
          return parts[path]?.applied(to: before) ?? before
        }
        for document in changed { shown[document.path] = document }
        listening.changed(changed, .write)
      }
    } catch {
      let doubt = InDoubtWrites(lane: lane, writes: writes, newest: newest, error: error)
      do throws(StoreError) {
        guard try !resolve(doubt) else { return }
        if group.count > 1 {
          for write in group { queue([write], in: lane) }
        } else {
          fail(doubt)
        }
      } catch {
        inDoubt.append(doubt)
        recovery.failed { [self] () throws(StoreError) in try resolveInDoubtCommits() }
      }
    }
  }

  /// Finds out what the store has of commits that were reported as failed.
  ///
  /// - Throws: when that cannot be read; it may be called again.
  private func resolveInDoubtCommits() throws(StoreError) {
    while let doubt = inDoubt.first {
      if try !resolve(doubt) { fail(doubt) }
      inDoubt.removeFirst()
    }
  }

  /// Treats writes as queued that the store has, although their commit was reported as failed.
  ///
  /// - Returns: whether it has them; it has all or none.
  /// - Throws: when that cannot be read, or nothing can be stored; it may be called again.
  private func resolve(_ doubt: InDoubtWrites) throws(StoreError) -> Bool {
    let found = try store.read { (view, _) throws(StoreError) in
      try view.entries(doubt.lane, after: doubt.newest, limit: doubt.writes.count)
    }
    guard found.map(\.payload) == doubt.writes.map(\.batch.payload), let last = found.last else {
      return false
    }
    // When this later commit is durable, so are the writes that were found.
    let trial = StorageEdit.setMetadata(
      store.tree, MetadataName.trial, Array("\(last.id.rawValue)".utf8))
    let commit = try store.commit([trial]).commit
    for (entry, write) in zip(found, doubt.writes) {
      queued(OutboundWriteID(doubt.lane, entry.id), write.caller, commit)
      changed(write.batch, .write, in: doubt.lane)
    }
    return true
  }

  /// Writes were not queued.
  private func fail(_ doubt: InDoubtWrites) {
    let error = FirestoreError(doubt.error, "The write was not queued")
    for write in doubt.writes { fail(write.caller, error) }
  }

  /// Tells the app of a write that was not queued.
  func fail(_ caller: WriteCaller, _ error: FirestoreError) {
    let error = DatabaseError(error)
    caller.receipt.fail(error)
    if let completion = caller.completion { outbox.addCall { completion(error) } }
  }

  /// Tells the receipt of a write of nothing when the writes before it are durable.
  func tellDurability(of receipt: WriteReceipt) {
    durability.tell(
      receipt, whenDurable: outbox.last, as: setup.options.durability.wanted, in: store.engine)
  }

  /// A write is in the queue.
  private func queued(_ id: OutboundWriteID, _ caller: WriteCaller, _ commit: CommitID) {
    let receipt = caller.receipt
    receipt.setID(WriteReceipt.ID(id))
    follow(id, caller, isNew: true)
    durability.tell(
      receipt, whenDurable: commit, as: setup.options.durability.wanted, in: store.engine)
  }
}

extension FirestoreError {
  /// A write waited for the storage to keep who is signed in, and meanwhile another one is.
  static let madeByAnother = FirestoreError(
    .cancelled,
    "Another user signed in before the storage could keep who had made the write: it is not queued. Make it again as its user."
  )
}
