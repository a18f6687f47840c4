import ConiferQuery
import ConiferTree
import ConiferWire

extension ConnectionMachine {
  mutating func add(_ listen: Listen) {
    guard listens[listen] == nil else { return }
    lastListen += 1
    listens[listen] = ListenEntry(order: lastListen)
    if session?.isAccepted == true, !isReadingHeld { ask(listen) }
  }

  mutating func remove(_ listen: Listen) {
    guard let entry = listens.removeValue(forKey: listen) else { return }
    // A revoked or unsent listen has nothing to end.
    guard let asked = entry.asked, asked.connection == session?.number else { return }
    send(.unlisten(listen.target, tag: listen.tag))
  }

  /// Asks the server for every listen that it was not asked for on this connection, in the order in
  /// which the app began them.
  mutating func sendListens() {
    guard let number = session?.number, !isReadingHeld else { return }
    let missing = listens.filter { $0.value.asked?.connection != number }
    for (listen, _) in missing.sorted(by: { $0.value.order < $1.value.order }) { ask(listen) }
  }

  private mutating func ask(_ listen: Listen) {
    // Not the session itself: with two owners all its requests would be copied.
    guard let connection = session?.number, let last = session?.lastRequest else { return }
    let number = last + 1
    note(number, .listen(listen))
    listens[listen]?.asked = (connection: connection, request: number)
    actions.append(.sendListen(number, listen))
  }

  mutating func listenAnswered(_ number: UInt64, _ listen: Listen, _ response: Response) {
    defer { releaseHeld() }
    // An answer to a listen that was ended, and perhaps begun anew.
    guard let asked = listens[listen]?.asked, asked.request == number,
      asked.connection == session?.number
    else { return }
    if response.status != .ok {
      if isDueToToken(response) {
        listens[listen]?.asked = nil
        return
      }
      listens[listen] = nil
    }
    actions.append(.listenAnswered(listen, response))
  }

  /// Ends what the server no longer allows; while no token is taken it is asked again later.
  mutating func revoke(_ path: Path, _ spec: QuerySpec) {
    let target = QueryTarget(path, spec.normalized)
    let revoked = listens.filter { $0.key.target == target }
    let isDueToToken = auth.token != nil && session?.isRefused == true
    for (listen, _) in revoked.sorted(by: { $0.value.order < $1.value.order }) {
      if isDueToToken {
        listens[listen]?.asked = nil
      } else {
        listens[listen] = nil
        actions.append(.listenRevoked(listen))
      }
    }
  }
}
