import ConiferWire

/// One connection from the server's hello to its end: which tokens the server is shown and what it makes of them. Its
/// requests are those of the pipeline.
struct Session: Sendable {
  let number: ConnectionNumber
  /// The uptime of its hello.
  let opened: Milliseconds
  var pipeline: RequestPipeline

  /// A connection whose hello came; shows the token, if there is one.
  init(_ number: ConnectionNumber, _ client: inout ClientState) {
    self.number = number
    opened = client.now.uptime
    pipeline = RequestPipeline(at: opened)
    showAppToken(&client)
    if let token = client.auth.token {
      pipeline.show(token, &client)
    } else {
      pipeline.accept(&client)
    }
  }

  // MARK: Messages

  /// Takes in what the server says but for the hello, and what ends the connection.
  mutating func receive(_ message: ServerMessage, _ client: inout ClientState) {
    pipeline.liveness.received(at: client.now.uptime)
    switch message {
    case .response(let number, let response): receiveResponse(response, to: number, &client)
    case .push(let push): receivePush(push, &client)
    case .hello, .pong, .reset, .shutdown, .error, .unknown: break
    }
  }

  private mutating func receiveResponse(
    _ response: Response, to number: UInt64, _ client: inout ClientState
  ) {
    guard let sent = pipeline.takeUnanswered(number) else { return }
    switch sent {
    case .authenticate(let token): authenticationAnswered(number, token, response, &client)
    case .appCheck(let token): appTokenAnswered(token, response, &client)
    case .write, .operation, .get, .listen:
      noteTokenRefusal(response, &client)
      pipeline.answered(sent, number, response, &client)
      if pipeline.isOpen { client.auth.requestServed() }
    }
    pipeline.sendWaiting(&client)
  }

  private mutating func receivePush(_ push: Push, _ client: inout ClientState) {
    switch push {
    case .overwrite(let path, let node, let tag):
      client.actions.append(.updated(.overwrite(path, node, tag: tag)))
    case .merge(let path, let changes, let tag):
      client.actions.append(.updated(.merge(path, changes, tag: tag)))
    case .rangeMerge(let path, let ranges, let tag):
      client.actions.append(.updated(.rangeMerge(path, ranges, tag: tag)))
    case .listenRevoked(let path, let spec): pipeline.revoke(path, spec, &client)
    case .authRevoked(let status, let reason):
      guard client.auth.token != nil else { break }
      tokenRevoked(status, reason, &client)
    case .appCheckRevoked(let status, let reason): client.appTokenRefused(status, reason)
    case .debug(let words): client.log("The server says: \(words)")
    }
  }

  /// The connection ended: what was not answered waits again, or is reported.
  mutating func end(_ client: inout ClientState) {
    pipeline.end(&client)
    client.sendBuffer.restart()
  }
}
