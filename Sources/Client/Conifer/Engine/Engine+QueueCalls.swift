import ConiferKeyValue
import ConiferStorage
import ConiferSync
import ConiferTree

extension Engine: QueueCalls {
  private typealias Reply<R: Sendable> = @Sendable (Result<R, DatabaseError>) -> Void

  /// Asks something about the user's queue between two steps, and waits for the reply; also until it is
  /// known who is signed in, while the token provider is asked.
  private nonisolated func asking<R: Sendable>(
    isChange: Bool = false,
    _ question: @escaping @Sendable (isolated Engine, @escaping Reply<R>) -> Void
  ) async throws(DatabaseError) -> R {
    let result = await withCheckedContinuation { continuation in
      post(
        .askQueue(isChange: isChange) { engine in
          question(engine) { continuation.resume(returning: $0) }
        })
    }
    return try result.get()
  }

  /// Reads the current identity's queue.
  private nonisolated func reading<R: Sendable>(
    _ body: @escaping @Sendable (isolated Engine, any StorageView, Lane) throws(StoreError) -> R
  ) async throws(DatabaseError) -> R {
    try await asking { engine, reply in
      guard let backend = engine.backend, let lane = engine.lane else {
        return reply(.failure(engine.phaseError))
      }
      do throws(StoreError) {
        reply(
          .success(
            try backend.read { (view) throws(StoreError) in try body(engine, view, lane) }))
      } catch {
        reply(.failure(DatabaseError(error, "The queue could not be read")))
      }
    }
  }

  /// A window of the current identity's writes in the order of their numbers.
  nonisolated func writes(
    after number: UInt64?, limit: Int, rejectedOnly: Bool
  ) async throws(DatabaseError) -> [PendingWrite] {
    let after = number.map { WriteID(rawValue: $0) }
    return try await reading { (engine, view, lane) throws(StoreError) in
      // Some of what the store takes for waiting has ended.
      let (sum, isOver) = limit.addingReportingOverflow(engine.writes.unstoredCount)
      let most = isOver ? limit : sum
      var found = try view.rejectedWrites(lane, after: after, limit: most)
      if !rejectedOnly { found += try view.writes(lane, after: after, limit: most) }
      let pending = found.sorted { $0.id < $1.id }.lazy.compactMap { write -> PendingWrite? in
        let id = OutboundWriteID(lane, write.id)
        var state = PendingWrite.State(write, isSent: engine.writes.isSent(id))
        switch engine.writes.outcome(of: id) {
        case nil: break
        case .rejected(let error)?: state = .rejected(error)
        default: return nil
        }
        var attempts = Int(write.attempts)
        if case .sent(isStored: false) = engine.writes.delivery(id) { attempts += 1 }
        return PendingWrite(write, lane, state, attempts: attempts)
      }
      return Array(pending.prefix(limit))
    }
  }

  /// What the current identity's queue holds.
  nonisolated func writeTotals() async throws(DatabaseError) -> PendingWriteTotals {
    try await reading { (_, view, lane) throws(StoreError) in
      let totals = try view.totals(lane)
      return PendingWriteTotals(
        pending: totals.pending, rejected: totals.rejected, bytes: totals.bytes)
    }
  }

  /// Waits until a write has ended.
  nonisolated func outcome(
    of id: WriteReceipt.ID
  ) async throws(DatabaseError) -> WriteReceipt.Outcome {
    let receipt = WriteReceipt()
    let known: WriteReceipt.Outcome? = try await reading {
      (engine, view, lane) throws(StoreError) in
      let lane = Lane(tree: lane.tree, identity: id.identity)
      let number = WriteID(rawValue: id.number)
      let name = OutboundWriteID(lane, number)
      if let end = engine.writes.outcome(of: name) { return end }
      if let end = try view.finishedWrite(lane, number) { return .init(end.outcome, lane) }
      guard let write = try view.write(lane, number) else {
        return .failed(DatabaseError(.unknownWrite, "The store knows no write \(id)."))
      }
      if case .rejected(let reason) = write.state {
        return .rejected(RejectionReason(reason).error(write.content.path))
      }
      engine.follow(name, WriteCaller(receipt: receipt))
      return nil
    }
    guard let known else { return try await receipt.outcome }
    if case .failed(let error) = known { throw error }
    return known
  }

  /// Queues a refused write again, in its old place.
  nonisolated func retry(_ id: WriteReceipt.ID) async throws(DatabaseError) {
    try await changing(id) { (engine, write, lane, reply: @escaping Reply<Void>) in
      guard case .rejected = write.state else { return reply(.failure(.notRefused(id))) }
      engine.add([.setState(lane, write.id, .queued)]) { result in
        if case .success = result {
          var write = write
          write.state = .queued
          engine.lay(write, lane)
          engine.tell(.write(OutboundWrite(lane, write)))
          engine.dataChanged(write.content.changes.map(\.path.owner))
        }
        reply(result.map { _ in }.mapError { DatabaseError($0, "The write was not queued again") })
      }
    }
  }

  /// Replaces a refused write by another one, which is queued last.
  nonisolated func edit(
    _ id: WriteReceipt.ID, to new: LocalWrite
  ) async throws(DatabaseError) -> WriteReceipt {
    try await changing(id) { (engine, write, lane, reply: @escaping Reply<WriteReceipt>) in
      guard case .rejected = write.state else { return reply(.failure(.notRefused(id))) }
      let content = new.content(time: engine.setup.clock.wallTime)
      let edits: [StorageEdit] = [.enqueue(lane, content), .finish(lane, write.id, .discarded)]
      engine.add(edits) { result in
        switch result {
        case .success(let numbers):
          let receipt = WriteReceipt()
          if let number = numbers.writes.first {
            engine.queued(
              QueuedWrite(id: number, content: content), WriteCaller(receipt: receipt), lane,
              numbers.commit)
          }
          let followers = engine.writes.end(OutboundWriteID(lane, write.id), .discarded)
          engine.tell(followers, .discarded, nil)
          reply(.success(receipt))
        case .failure(let error):
          reply(.failure(DatabaseError(error, "The write was not replaced")))
        }
      }
    }
  }

  /// Gives up a write that is refused, or that was never sent.
  nonisolated func discard(_ id: WriteReceipt.ID) async throws(DatabaseError) {
    try await changing(id) { (engine, write, lane, reply: @escaping Reply<Void>) in
      let name = OutboundWriteID(lane, write.id)
      switch write.state {
      case .rejected: break
      case .queued where !engine.writes.isSent(name): break
      default:
        return reply(
          .failure(DatabaseError(.unknownWrite, "The write \(id) was sent: the server decides.")))
      }
      engine.add([.finish(lane, write.id, .discarded)]) { result in
        if case .success = result {
          let error = DatabaseError(.discarded, "The app discarded the write \(id).")
          engine.tell(.withdraw(name))
          if engine.writes.hide(name) {
            engine.raise(engine.tree.revert(OverlayID(write.id.rawValue)))
          }
          engine.tell(engine.writes.end(name, .discarded), .discarded, error)
          engine.dataChanged(write.content.changes.map(\.path.owner))
        }
        reply(result.map { _ in }.mapError { DatabaseError($0, "The write was not discarded") })
      }
    }
  }

  /// Finds a write that has not ended, of the identity it names, and changes it.
  private nonisolated func changing<R: Sendable>(
    _ id: WriteReceipt.ID,
    _ change: @escaping @Sendable (isolated Engine, QueuedWrite, Lane, @escaping Reply<R>) -> Void
  ) async throws(DatabaseError) -> R {
    try await asking(isChange: true) { engine, reply in
      guard let own = engine.lane else { return reply(.failure(engine.phaseError)) }
      let lane = Lane(tree: own.tree, identity: id.identity)
      let write = engine.read { (view, _) throws(StoreError) in
        try view.write(lane, WriteID(rawValue: id.number))
      }
      guard lane == own, let write, let write else {
        return reply(
          .failure(DatabaseError(.unknownWrite, "The user's queue holds no write \(id).")))
      }
      change(engine, write, lane, reply)
    }
  }

  /// Asks the token provider anew.
  nonisolated func refreshToken() { post(.refreshToken) }

  /// Ends all work, makes it durable and closes the store.
  nonisolated func close() async {
    await withCheckedContinuation { continuation in post(.close { continuation.resume() }) }
  }
}

extension DatabaseError {
  fileprivate static func notRefused(_ id: WriteReceipt.ID) -> DatabaseError {
    DatabaseError(.unknownWrite, "The server did not refuse the write \(id).")
  }
}

extension WriteReceipt.Outcome {
  fileprivate init(_ outcome: WriteOutcome, _ lane: Lane) {
    switch outcome {
    case .acknowledged: self = .acknowledged
    case .discarded: self = .discarded
    case .superseded(let by):
      self = .superseded(by: WriteReceipt.ID(identity: lane.identity, number: by.rawValue))
    }
  }
}

extension PendingWrite {
  fileprivate init(_ write: QueuedWrite, _ lane: Lane, _ state: State, attempts: Int) {
    self.init(
      id: WriteReceipt.ID(identity: lane.identity, number: write.id.rawValue),
      kind: write.content.kind == .update ? .update : .set, path: write.content.path,
      changes: write.content.changes, state: state, attempts: attempts,
      time: write.content.time)
  }
}

extension PendingWrite.State {
  fileprivate init(_ write: QueuedWrite, isSent: Bool) {
    self =
      switch write.state {
      case .queued: isSent ? .sent : .queued
      case .sent: isSent ? .sent : .outcomeUnknown
      case .outcomeUnknown: .outcomeUnknown
      case .rejected(let reason): .rejected(RejectionReason(reason).error(write.content.path))
      }
  }
}
