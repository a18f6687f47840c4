import ConiferTree
import ConiferWire

extension Namespace {
  /// Remembers, or forgets, what is to happen when a session ends.
  ///
  /// The rules are asked now, so that the client learns of a refusal, and again when it happens.
  mutating func remember(_ request: Request, of id: SessionID, now: Int64) -> Response {
    let base: Path
    var changes: [NodeChange] = []
    var isMerge = false
    switch request {
    case .onDisconnectPut(let path, let node):
      base = path
      changes = [NodeChange(path, node)]
    case .onDisconnectMerge(let path, let relative):
      base = path
      changes = relative.map { NodeChange(path.appending($0.path), $0.node) }
      isMerge = true
    case .onDisconnectCancel(let path):
      sessions[id]?.disconnect.forget(path)
      return .ok
    default: return Response(.failure, reason: "The request is not for a disconnect.")
    }
    let write = PendingWrite(
      base: base, changes: changes, isMerge: isMerge, hash: nil, origin: .disconnect(id))
    if case .failure(let refusal) = stage(write, now: now) { return refusal.response }
    for change in changes { sessions[id]?.disconnect.remember(change) }
    return .ok
  }

  /// Writes what was to be written when a session ends: at once, but for what is refused by now.
  mutating func runDisconnect(of id: SessionID, now: Int64) {
    guard let writes = sessions[id]?.disconnect, !writes.isEmpty else { return }
    sessions[id]?.disconnect = DisconnectWrites()
    var allowed: [NodeChange] = []
    for change in writes.changes {
      let alone = PendingWrite(
        base: change.path, changes: [change], isMerge: false, hash: nil, origin: .disconnect(id))
      switch stage(alone, now: now) {
      case .success: allowed.append(change)
      case .failure(let refusal):
        outputs.append(.log("At a disconnect \(change.path) was not written: \(refusal.response)"))
      }
    }
    guard let first = allowed.first else { return }
    write(
      PendingWrite(
        base: allowed.count == 1 ? first.path : .root, changes: allowed,
        isMerge: allowed.count > 1, hash: nil, origin: .disconnect(id)),
      now: now)
  }
}
