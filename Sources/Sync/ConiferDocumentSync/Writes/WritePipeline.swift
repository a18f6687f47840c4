package import ConiferDocument
package import ConiferWire

/// The number of a batch; greater ones are younger.
package typealias BatchID = Int64

/// What a write pipeline asks for.
package enum WriteAction: Sendable, Hashable {
  /// The stream is to be opened, as soon as its back-off allows.
  case openStream
  /// Nothing waits to be sent: the stream is to be closed, once it has been idle for long enough.
  case idle
  /// The stream is open: the server is to be greeted, with the token of the last answer.
  case greet(token: [UInt8])
  /// The token must be stored for the next greeting, also of a later run, before anything else is
  /// done. By the token the server knows which batches it has applied, so that none is applied
  /// twice.
  case keep(token: [UInt8])
  /// A batch is to be sent, with the token of the last answer.
  case send(BatchID, MutationBatch, token: [UInt8])
  /// The batches of the queue behind one, or from the first one on, are to be given to `take`.
  case read(after: BatchID?, count: Int)
  /// The server accepted a batch: one result a write; with the token that is to be kept from then on.
  case accepted(BatchID, MutationBatch, commitTime: Timestamp, [WriteResult], token: [UInt8])
  /// The server refused a batch for good, or would.
  case refused(BatchID, StatusError)
  /// What failed was a batch's fault: the next attempt to open the stream is to come at once.
  case inhibitBackoff
}

/// The sending of queued batches: ten at most are on their way, and the server answers in their order.
package struct WritePipeline: Sendable {
  /// How many batches are on their way at most.
  package static let depth = 10

  private enum Stream: Sendable {
    case closed
    case opening
    /// The server was greeted.
    case greeting
    /// Batches are sent.
    case ready
  }

  /// Whether the queue may hold batches that the pipeline does not know.
  private enum Queue: Sendable {
    case mayHoldMore
    /// It was asked for; batches that were queued since may be missing in the answer.
    case asked(after: BatchID?, mayHoldMore: Bool)
    case read
  }

  private struct Entry: Sendable {
    let id: BatchID
    let batch: MutationBatch
  }

  private var isEnabled: Bool
  /// Further codes with which the server refuses a batch for good.
  private let finalCodes: Set<StatusCode>
  private var stream = Stream.closed
  private var queue = Queue.mayHoldMore
  /// The batches that are on their way, or will be when the stream is ready.
  private var entries: [Entry] = []
  /// The newest batch that was read from the queue.
  private var newest: BatchID?
  /// Whether a batch that is older than those in `entries` must be sent. The pipeline first waits
  /// for their answers, so that none is sent twice.
  private var mustRewind = false
  /// What the server wants to be shown with the next request.
  private var token: [UInt8]

  /// - Parameters:
  ///   - isEnabled: whether the app lets the network be used.
  ///   - token: the token that was kept of the user's last stream; empty when there is none.
  ///   - finalCodes: codes with which the server refuses a batch for good, beside those that are permanent.
  package init(
    isEnabled: Bool = true, token: [UInt8] = [], refusedWith finalCodes: Set<StatusCode> = []
  ) {
    self.isEnabled = isEnabled
    self.finalCodes = finalCodes
    self.token = token
  }

  /// The batches that were sent and not answered.
  package var outstanding: [BatchID] {
    if case .ready = stream { entries.map(\.id) } else { [] }
  }

  // MARK: The queue

  /// The queue is there, or another batch was queued.
  package mutating func queued() -> [WriteAction] {
    if case .asked(let after, _) = queue {
      queue = .asked(after: after, mayHoldMore: true)
    } else {
      queue = .mayHoldMore
    }
    return fill()
  }

  /// Answers `read`: the next batches in order. Fewer than were asked for are all that there are.
  /// Those that no request may have are refused without being sent.
  package mutating func take(
    _ batches: [(id: BatchID, batch: MutationBatch)], after: BatchID?, count: Int
  ) -> [WriteAction] {
    // Another user's queue was asked for meanwhile, or the network was turned off.
    guard case .asked(after, let mayHoldMore) = queue else { return [] }
    queue = mayHoldMore || batches.count >= count ? .mayHoldMore : .read
    newest = batches.last?.id ?? newest
    var actions: [WriteAction] = []
    var new: [Entry] = []
    for (id, batch) in batches {
      do throws(DocumentError) {
        try batch.validateSize()
        new.append(Entry(id: id, batch: batch))
      } catch {
        // No server takes it, and what waits behind it would wait for ever.
        actions.append(.refused(id, StatusError(.invalidArgument, error.message)))
      }
    }
    entries += new
    if case .ready = stream { actions += new.map(send) }
    return actions + fill()
  }

  /// Another user is signed in: the pipeline begins anew with that user's queue. The stream is closed by the
  /// caller.
  ///
  /// - Parameter token: the token that was kept of that user's last stream; empty when there is none.
  package mutating func userChanged(token: [UInt8]) -> [WriteAction] {
    forget()
    self.token = token
    return fill()
  }

  /// A refused batch was queued again in its old place. It is sent before all that was not sent yet.
  package mutating func requeued() -> [WriteAction] {
    mustRewind = true
    if case .ready = stream { return fill() }
    // Nothing is on its way.
    rewind()
    return fill()
  }

  /// A batch is no longer in the queue, and was not sent.
  ///
  /// - Returns: whether that is so; one that is on its way stays.
  package mutating func withdraw(_ id: BatchID) -> Bool {
    if case .ready = stream { return !entries.contains { $0.id == id } }
    entries.removeAll { $0.id == id }
    return true
  }

  private mutating func rewind() {
    mustRewind = false
    entries = []
    newest = nil
    queue = .mayHoldMore
  }

  /// Reads what there is room for, and opens the stream when there is something to send.
  private mutating func fill() -> [WriteAction] {
    guard isEnabled else { return [] }
    if mustRewind {
      guard entries.isEmpty else { return [] }
      rewind()
    }
    var actions: [WriteAction] = []
    switch queue {
    case .mayHoldMore where entries.count < Self.depth:
      queue = .asked(after: newest, mayHoldMore: false)
      actions.append(.read(after: newest, count: Self.depth - entries.count))
    case .read where entries.isEmpty: if case .ready = stream { actions.append(.idle) }
    case .mayHoldMore, .asked, .read: break
    }
    return openIfNeeded() + actions
  }

  private mutating func openIfNeeded() -> [WriteAction] {
    guard isEnabled, !entries.isEmpty, case .closed = stream else { return [] }
    stream = .opening
    return [.openStream]
  }

  private func send(_ entry: Entry) -> WriteAction { .send(entry.id, entry.batch, token: token) }

  private mutating func forget() {
    rewind()
    stream = .closed
  }

  // MARK: The stream

  /// The app lets the network be used, or not. A stream that is not to be used is closed by the caller.
  package mutating func setEnabled(_ isEnabled: Bool) -> [WriteAction] {
    guard isEnabled != self.isEnabled else { return [] }
    self.isEnabled = isEnabled
    // What was read is read again: it may have been taken back meanwhile.
    forget()
    return fill()
  }

  /// The stream is open.
  package mutating func streamOpened() -> [WriteAction] {
    guard case .opening = stream else { return [] }
    stream = .greeting
    return [.greet(token: token)]
  }

  /// The server answered the greeting: all that waits is sent. All may have been withdrawn meanwhile.
  package mutating func greeted(token: [UInt8]) -> [WriteAction] {
    guard case .greeting = stream else { return [] }
    stream = .ready
    let isNew = token != self.token
    self.token = token
    return (isNew ? [.keep(token: token)] : [])
      + (entries.isEmpty ? fill() : entries.map(send))
  }

  /// The server accepted the oldest batch that was sent.
  package mutating func answered(
    commitTime: Timestamp, _ results: [WriteResult], token: [UInt8]
  ) -> [WriteAction] {
    guard case .ready = stream, !entries.isEmpty else { return [] }
    self.token = token
    let first = entries.removeFirst()
    return [.accepted(first.id, first.batch, commitTime: commitTime, results, token: token)]
      + fill()
  }

  private func isFinal(_ error: StatusError) -> Bool {
    error.code.isPermanentForWrites || finalCodes.contains(error.code)
  }

  /// The stream broke, could not be opened, or was closed since it was idle.
  ///
  /// - Parameter error: why; nil when it was closed on purpose.
  package mutating func streamClosed(_ error: StatusError?) -> [WriteAction] {
    let before = stream
    stream = .closed
    var actions: [WriteAction] = []
    switch before {
    case .ready where error.map(isFinal) == true && !entries.isEmpty:
      let first = entries.removeFirst()
      if let error { actions = [.inhibitBackoff, .refused(first.id, error)] }
    case .greeting where error?.code.isPermanent == true:
      // No batch was sent yet, so what was refused is the greeting, with its token.
      if !token.isEmpty { actions = [.keep(token: [])] }
      token = []
    case .closed, .opening, .greeting, .ready: break
    }
    // Nothing is on its way any more.
    if mustRewind { rewind() }
    return actions + fill()
  }
}
