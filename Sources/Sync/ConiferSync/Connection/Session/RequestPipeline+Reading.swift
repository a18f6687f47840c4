import ConiferQuery
import ConiferTree
import ConiferWire

extension RequestPipeline {
  /// Whether listens and gets may be sent; while the user may have changed they wait.
  private func canRead(_ client: ClientState) -> Bool { isAccepted && !client.auth.isChanging }

  /// Sends what waited to know who is signed in.
  mutating func readAgain(_ client: inout ClientState) {
    guard canRead(client) else { return }
    sendListens(&client)
    sendWaiting(&client)
  }

  // MARK: Listens

  /// Asks the server for a listen.
  mutating func listen(_ listen: Listen, _ client: inout ClientState) {
    guard canRead(client) else { return }
    let number = addRequest(.listen(listen), at: client.now.uptime)
    sentListens[listen] = number
    client.actions.append(.sendListen(number, listen))
  }

  /// Asks the server for every listen that it was not asked for.
  mutating func sendListens(_ client: inout ClientState) {
    guard canRead(client) else { return }
    for listen in client.listens.all(where: { sentListens[$0] == nil }) {
      self.listen(listen, &client)
    }
  }

  /// Ends a listen that the server was asked for.
  mutating func unlisten(_ listen: Listen, _ client: inout ClientState) {
    guard sentListens.removeValue(forKey: listen) != nil else { return }
    send(.unlisten(listen.target, tag: listen.tag), nil, &client)
  }

  mutating func listenAnswered(
    _ number: UInt64, _ listen: Listen, _ response: Response, _ client: inout ClientState
  ) {
    defer { deliverAnswers(&client) }
    // If it is not in the list, the listen was ended, and perhaps begun again.
    guard sentListens[listen] == number else { return }
    if isDueToToken(response, client.auth) {
      sentListens[listen] = nil
      return
    }
    if response.status != .ok {
      sentListens[listen] = nil
      client.listens.remove(listen)
    }
    client.actions.append(.listenAnswered(listen, response))
  }

  /// Ends what the server no longer allows; while no token is taken it is asked again later.
  mutating func revoke(_ path: Path, _ spec: QuerySpec, _ client: inout ClientState) {
    let target = QueryTarget(path, spec.normalized)
    let isDueToToken = isTokenInvalid(client.auth)
    for listen in client.listens.all(where: { $0.target == target }) {
      sentListens[listen] = nil
      guard !isDueToToken else { continue }
      client.listens.remove(listen)
      client.actions.append(.listenRevoked(listen))
    }
  }

  // MARK: Gets

  /// Sends all reads that wait. They have no position among the writes: the app lays what waits over
  /// the answer.
  mutating func sendGets(_ client: inout ClientState) {
    guard canRead(client), !isShowingToken else { return }
    while let get = client.gets.popFirst() { send(.get(get.target), .get(get), &client) }
  }

  mutating func getAnswered(
    _ get: WaitingGet, _ response: Response, _ client: inout ClientState
  ) {
    if isDueToToken(response, client.auth) { return client.gets.add(get) }
    client.actions.append(.getAnswered(get.id, response))
  }
}
