import ConiferStorage
import ConiferTree
import ConiferWire

extension Session {
  // MARK: The queue

  /// Asks for the next writes where there is room for them.
  mutating func askForWrites(_ client: inout ClientState) {
    guard isAccepted, client.position.isOpen else { return }
    if let (after, count) = client.queue.ask(limit: client.limits.window) {
      client.actions.append(.needWrites(client.position.lane, after: after, limit: count))
    }
  }

  /// Takes in the next writes.
  mutating func add(
    _ page: [OutboundWrite], of lane: Lane, after: WriteID?, isLast: Bool,
    _ client: inout ClientState
  ) {
    guard isAccepted, lane == client.position.lane, client.queue.isAsking(after: after) else {
      return
    }
    client.queue.add(page, isLast: isLast) { unanswered.contains($0) }
    sendWaiting(&client)
  }

  /// Sends what may go: the queue's writes and what was issued beside them, in order.
  ///
  /// While a newer token is being shown nothing is sent: a request that the server refused because of the
  /// old token is sent again first.
  mutating func sendWaiting(_ client: inout ClientState) {
    sendGets(&client)
    while isAccepted, authRequest == nil, client.position.isOpen {
      if let next = client.operations.first, client.queue.isPast(next.place.number) {
        guard hasRoom(next.size, client.limits) else { break }
        client.operations.popFirst()
        send(next, &client)
      } else if let write = client.queue.first {
        guard hasRoom(write.size, client.limits) else { break }
        guard write.isIdempotent || write.isMarked else {
          let ids = client.queue.markWaiting(at: client.now.uptime)
          if !ids.isEmpty { client.actions.append(.markSent(ids)) }
          break
        }
        client.queue.removeFirst()
        client.position.sent(write.id.id)
        send(write.request, .write(write), &client)
        client.actions.append(.writeSent(write.id))
      } else {
        break
      }
    }
    askForWrites(&client)
  }

  /// Whether something of a size may go now; what has no size always may.
  private func hasRoom(_ size: Int?, _ limits: ConnectionLimits) -> Bool {
    guard let size, unanswered.windowCount > 0 else { return true }
    return unanswered.windowCount < limits.window
      && unanswered.windowBytes + size <= limits.windowBytes
  }

  mutating func answered(
    _ write: OutboundWrite, _ response: Response, _ client: inout ClientState
  ) {
    if isDueToToken(response, &client) {
      // It is sent again as soon as a token is taken, unless it is another user's by then.
      return client.actions.append(.writeReturned(write.id))
    }
    client.queue.answered(write.id)
    deliver(.write(write.id, write.content.changes.map(\.path)), response, &client)
  }

  /// Forgets a write that the app takes back.
  mutating func withdraw(_ id: OutboundWriteID, _ client: inout ClientState) {
    _ = unanswered.removeAll { $0.write?.id == id }
    deferred.removeAll { if case .write(id, _) = $0.subject { true } else { false } }
    sendWaiting(&client)
  }

  /// Reports the writes of other lanes as of unknown outcome: they are not sent on this lane's
  /// connection again.
  mutating func reportOtherLanes(_ client: inout ClientState) {
    let lane = client.position.lane
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

  mutating func answered(
    _ operation: Operation, _ response: Response, _ client: inout ClientState
  ) {
    let mustRepeat = isDueToToken(response, &client)
    switch operation.kind {
    case .put(let put) where mustRepeat: client.actions.append(.putReturned(put.id))
    case .put(let put): deliver(.put(put.id, put.path), response, &client)
    case .onDisconnect where mustRepeat && operation.lane != client.position.lane:
      client.giveUp(operation, with: .identityChanged)
    case .onDisconnect where mustRepeat: client.insert(operation)
    case .onDisconnect(let id, _):
      client.actions.append(.onDisconnectAnswered(id, response))
    }
  }

  /// Forgets all that was sent and not answered of the queue, and gives up the puts.
  mutating func purge(_ client: inout ClientState) {
    deliverAnswers(all: true, &client)
    _ = unanswered.removeAll { $0.write != nil }
    let puts = unanswered.removeAll {
      if case .operation(let operation) = $0, case .put = operation.kind { true } else { false }
    }
    for case .operation(let operation) in puts { client.giveUp(operation, with: .writeCanceled) }
  }
}
