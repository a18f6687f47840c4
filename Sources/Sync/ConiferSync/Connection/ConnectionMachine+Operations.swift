import ConiferWire

extension ConnectionMachine {
  /// Takes in something that the app issued.
  mutating func issue(_ kind: Operation.Kind, at place: OverlayID) {
    if case .put(let put) = kind, session?.isAccepted != true {
      // It names a hash of the moment, and may be another user's when the next token is taken.
      actions.append(.putReturned(put.id))
      return
    }
    enqueue(Operation(kind: kind, place: place, lane: lane, issued: now.uptime))
    flush()
  }

  private mutating func enqueue(_ operation: Operation) {
    var operation = operation
    if operation.lane != lane {
      operation.place = nextPlace()
      operation.lane = lane
    }
    operations.insert(operation) { operation.place < $0.place }
  }

  /// Sends an operation, which was taken from those that wait.
  mutating func send(_ operation: Operation) {
    let request: Request
    switch operation.kind {
    case .put(let put): request = .put(put.path, put.node, hash: put.hash)
    case .onDisconnect(_, let disconnect): request = disconnect.request
    }
    send(request, .operation(operation))
  }

  mutating func answered(_ operation: Operation, _ response: Response) {
    if response.status != .ok, isDueToToken(response) { return giveBack(operation) }
    switch operation.kind {
    case .put(let put): hold(.put(put.id, put.path), response)
    case .onDisconnect(let id, _): actions.append(.onDisconnectAnswered(id, response))
    }
  }

  /// An operation was refused for want of a token: it waits again.
  private mutating func giveBack(_ operation: Operation) {
    switch operation.kind {
    case .onDisconnect where operation.lane != lane: giveUp(operation, with: .identityChanged)
    case .onDisconnect: enqueue(operation)
    case .put(let put): actions.append(.putReturned(put.id))
    }
  }

  /// Hands unsent puts back, since they name hashes of the moment.
  mutating func returnPuts() {
    for operation in operations.all {
      if case .put(let put) = operation.kind { actions.append(.putReturned(put.id)) }
    }
    operations.removeAll { if case .put = $0.kind { true } else { false } }
  }

  /// Ends all unsent operations with a local status.
  mutating func giveUpOperations(with status: Response.Status) {
    let all = operations.all
    operations.removeAll()
    for operation in all { giveUp(operation, with: status) }
  }

  mutating func giveUp(_ operation: Operation, with status: Response.Status) {
    switch operation.kind {
    case .put(let put): actions.append(.putAnswered(put.id, Response(status)))
    case .onDisconnect(let id, _):
      actions.append(.onDisconnectAnswered(id, Response(status)))
    }
  }
}
