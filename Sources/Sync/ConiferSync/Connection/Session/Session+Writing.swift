import ConiferQuery
package import ConiferStorage
import ConiferTree
package import ConiferWire

extension Session {
  // MARK: The queue

  /// Asks for the next writes where there is room for them.
  mutating func askForWrites(_ client: inout ClientState) {
    guard isAccepted, client.positions.isOpen else { return }
    if let (after, count) = client.sendBuffer.ask(limit: client.limits.window) {
      client.actions.append(.needWrites(client.positions.lane, after: after, limit: count))
    }
  }

  /// Takes in the next writes.
  mutating func add(
    _ page: [OutboundWrite], of lane: Lane, after: WriteID?, isLast: Bool,
    _ client: inout ClientState
  ) {
    guard isAccepted, lane == client.positions.lane, client.sendBuffer.isAsking(after: after) else {
      return
    }
    client.sendBuffer.add(page, isLast: isLast) { isUnderWay($0) }
    sendWaiting(&client)
  }

  /// Sends what may go: the queue's writes and what was issued beside them, in order.
  ///
  /// While a newer token is being shown nothing is sent: a request that the server refused because of the
  /// old token is sent again first.
  mutating func sendWaiting(_ client: inout ClientState) {
    sendGets(&client)
    while isAccepted, authRequest == nil, client.positions.isOpen {
      if let next = client.operations.first, client.sendBuffer.isPast(next.position.number) {
        guard hasRoom(next.size, client.limits) else { break }
        client.operations.popFirst()
        send(next, &client)
      } else if let write = client.sendBuffer.first {
        guard hasRoom(write.size, client.limits) else { break }
        guard write.mayLeave else {
          let ids = client.sendBuffer.markWaiting(at: client.now.uptime)
          if !ids.isEmpty { client.actions.append(.markSent(ids)) }
          break
        }
        client.sendBuffer.removeFirst()
        client.positions.sent(write.id.id)
        send(Request(write.content), .write(write), &client)
        client.actions.append(.writeSent(write.id))
      } else {
        break
      }
    }
    askForWrites(&client)
  }

  /// Whether a write was sent, and its answer is not handed on.
  func isUnderWay(_ id: OutboundWriteID) -> Bool {
    unanswered.contains(id) || deferred.contains(id)
  }

  /// Whether something of a size may go now; what has no size always may.
  private func hasRoom(_ size: Int?, _ limits: ConnectionLimits) -> Bool {
    guard let size, unanswered.windowCount > 0 else { return true }
    return unanswered.windowCount < limits.window
      && unanswered.windowBytes + size <= limits.windowBytes
  }

  mutating func writeAnswered(
    _ write: OutboundWrite, _ response: Response, _ client: inout ClientState
  ) {
    if isDueToToken(response, client.auth) {
      // It is sent again as soon as a token is taken, unless it is another user's by then.
      return client.actions.append(.writeReturned(write.id))
    }
    deliver(.write(write.id, write.content.changes.map(\.path)), response, &client)
  }

  /// Forgets a write that the app takes back.
  mutating func withdraw(_ id: OutboundWriteID, _ client: inout ClientState) {
    _ = unanswered.removeAll { $0.write?.id == id }
    deferred.removeWrite(id)
    sendWaiting(&client)
  }

  /// Reports the writes of other lanes as of unknown outcome: they are not sent on this lane's
  /// connection again.
  mutating func reportOtherLanes(_ client: inout ClientState) {
    let lane = client.positions.lane
    let others = unanswered.removeAll { $0.write.map { $0.id.lane != lane } ?? false }
    for case .write(let write) in others { client.actions.append(.writeOutcomeUnknown(write.id)) }
  }

  // MARK: Operations

  private mutating func send(_ operation: Operation, _ client: inout ClientState) {
    let request: Request
    switch operation.kind {
    case .put(let put): request = .put(put.path, put.node, hash: put.hash)
    case .onDisconnect(_, let disconnect): request = disconnect.request
    }
    send(request, .operation(operation), &client)
  }

  mutating func operationAnswered(
    _ operation: Operation, _ response: Response, _ client: inout ClientState
  ) {
    let mustRepeat = isDueToToken(response, client.auth)
    switch operation.kind {
    case .put(let put) where mustRepeat: client.actions.append(.putReturned(put.id))
    case .put(let put): deliver(.put(put.id, put.path), response, &client)
    case .onDisconnect where mustRepeat && operation.lane != client.positions.lane:
      client.giveUp(operation, with: .identityChanged)
    case .onDisconnect where mustRepeat: client.insert(operation)
    case .onDisconnect(let id, _):
      client.actions.append(.onDisconnectAnswered(id, response))
    }
  }

  /// Forgets all that was sent and not answered of the lane's queue.
  mutating func forgetQueue(_ client: inout ClientState) {
    reportOtherLanes(&client)
    _ = unanswered.removeAll { $0.write != nil }
  }

  /// Gives up the puts that were sent and not answered.
  mutating func giveUpPuts(_ client: inout ClientState) {
    let puts = unanswered.removeAll {
      if case .operation(let operation) = $0, case .put = operation.kind { true } else { false }
    }
    for case .operation(let operation) in puts { client.giveUp(operation, with: .writeCanceled) }
  }
}

// MARK: Answers that wait for listens

/// An answer that waits for all listens that were sent before it came: they may bring data from before the
/// write that it ends, and the write must lie over that.
struct DeferredAnswer: Sendable {
  enum Subject: Sendable {
    /// With the paths that it changed, as in a put.
    case write(OutboundWriteID, [Path])
    case put(OperationID, Path)

    var paths: [Path] {
      switch self {
      case .write(_, let all): all
      case .put(_, let path): [path]
      }
    }
  }

  let subject: Subject
  let response: Response
  /// Listens up to this request must be answered first.
  let lastRequest: UInt64
  /// Whether the connection broke before those of them that touch its paths were answered.
  var isDataMissing = false
}

/// The answers that wait for listens, in the order in which they came.
struct DeferredAnswers: Sendable {
  private var answers = FIFO<DeferredAnswer>()
  /// The writes among what they answer.
  private var writes: Set<OutboundWriteID> = []

  var isEmpty: Bool { answers.isEmpty }
  var first: DeferredAnswer? { answers.first }

  /// Whether the answer to a write waits.
  func contains(_ id: OutboundWriteID) -> Bool { writes.contains(id) }

  mutating func append(_ answer: DeferredAnswer) {
    if case .write(let id, _) = answer.subject { writes.insert(id) }
    answers.append(answer)
  }

  mutating func removeFirst() {
    if case .write(let id, _)? = answers.first?.subject { writes.remove(id) }
    answers.popFirst()
  }

  /// Forgets the answer to a write.
  mutating func removeWrite(_ id: OutboundWriteID) {
    guard writes.remove(id) != nil else { return }
    answers.removeAll { if case .write(id, _) = $0.subject { true } else { false } }
  }

  /// Changes each answer, but for what it answers.
  mutating func changeAll(_ body: (inout DeferredAnswer) -> Void) { answers.changeAll(body) }
}

extension Session {
  /// Hands an answer on when the listens that were sent until now are answered, which may be at once.
  mutating func deliver(
    _ subject: DeferredAnswer.Subject, _ response: Response, _ client: inout ClientState
  ) {
    deferred.append(DeferredAnswer(subject: subject, response: response, lastRequest: lastRequest))
    deliverAnswers(&client)
  }

  /// Hands on the answers that wait for nothing more, or all of them, in the order in which they came.
  mutating func deliverAnswers(all: Bool = false, _ client: inout ClientState) {
    while let first = deferred.first {
      if !all, let listen = unanswered.oldestListen, listen <= first.lastRequest { return }
      deferred.removeFirst()
      switch first.subject {
      case .write(let id, _):
        client.actions.append(
          .writeAnswered(id, first.response, isDataMissing: first.isDataMissing))
      case .put(let id, _):
        client.actions.append(
          .putAnswered(id, first.response, isDataMissing: first.isDataMissing))
      }
    }
  }

  /// Marks the answers whose data an unanswered listen was to bring, as the connection broke.
  mutating func markMissingData() {
    guard !deferred.isEmpty else { return }
    let listens = unanswered.listenTargets
    deferred.changeAll { answer in
      guard answer.response.status == .ok else { return }
      let (last, paths) = (answer.lastRequest, answer.subject.paths)
      answer.isDataMissing = listens.contains { number, target in
        number <= last
          && paths.contains { $0.contains(target.path) || target.path.contains($0) }
      }
    }
  }
}

extension Request {
  /// The request that carries a write.
  ///
  /// A write that replaces one node is a put, with the hash that its precondition names; all others
  /// are one merge, so that the server applies all of it or nothing.
  package init(_ content: WriteContent) {
    if content.kind != .update, content.changes.count == 1, let change = content.changes.first {
      let hash = content.preconditions.first { $0.path == change.path }?.hash
      self = .put(change.path, change.node, hash: hash)
      return
    }
    var relative: [NodeChange] = []
    for change in content.changes {
      guard let path = change.path.relative(to: content.path) else {
        self = .merge(.root, content.changes)
        return
      }
      relative.append(NodeChange(path, change.node))
    }
    self = .merge(content.path, relative)
  }
}
