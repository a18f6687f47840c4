import ConiferTree
import ConiferWire

extension Namespace {
  /// Registers or cancels an onDisconnect operation.
  ///
  /// The rules are checked now, so that the client learns of a refusal, and again when the
  /// operation runs.
  ///
  /// - Returns: the answer; nil when it comes once the change is stored.
  mutating func remember(
    _ request: Request, _ number: UInt64, of id: SessionID, now: Int64
  ) -> Response? {
    let change: DisconnectChange
    switch request {
    case .onDisconnectPut(let path, let node):
      change = .write([NodeChange(path, node)], base: path, isMerge: false)
    case .onDisconnectMerge(let path, let relative):
      let changes = relative.map { NodeChange(path.appending($0.path), $0.node) }
      change = .write(changes, base: path, isMerge: true)
    case .onDisconnectCancel(let path): change = .cancel(path)
    default: return Response(.failure, reason: "The request is not for a disconnect.")
    }
    let growth: Int
    switch change {
    case .cancel(let path):
      // Nothing is to be stored of what changes nothing.
      guard sessions[id]?.disconnect.isEmpty == false else { return .ok }
      growth = sessions[id]?.disconnect.growth(byForgetting: path) ?? 0
    case .write(let changes, let base, let isMerge):
      let write = PendingWrite(
        base: base, changes: changes, isMerge: isMerge, hash: nil, origin: .disconnect(id))
      if case .failure(let refusal) = stage(write, now: now) {
        if let decision = refusal.decision { log(decision, "A write at a disconnect") }
        return refusal.response
      }
      growth = sessions[id]?.disconnect.growth(by: changes) ?? 0
    }
    if let refusal = refusal(growing: sessions[id]?.disconnect.bytes ?? 0, by: growth) {
      return refusal
    }
    if storesDisconnects {
      store(change, number, of: id)
      return nil
    }
    changeDisconnect(of: id) { change.apply(to: &$0) }
    return .ok
  }

  /// Why a session's onDisconnect operations may not grow; nil when they may.
  ///
  /// - Parameters:
  ///   - held: their bytes.
  ///   - growth: the maximum growth in bytes.
  private func refusal(growing held: Int, by growth: Int) -> Response? {
    let size = held + max(0, growth)
    guard size <= limits.disconnect || growth <= 0 else {
      return Response(
        .tooBig,
        reason: "The session's onDisconnect operations have more than \(limits.disconnect) bytes. "
          + "Cancel some of them.")
    }
    guard disconnects.reserve(held, size) else {
      return Response(
        .unavailable,
        reason: "The onDisconnect operations of all sessions have more than "
          + "\(limits.disconnects) bytes. Register smaller ones, or try later.")
    }
    // The actual size is counted with the change.
    disconnects.account(size, held)
    return nil
  }

  /// Changes a session's onDisconnect operations, and accounts for their memory.
  mutating func changeDisconnect(
    of id: SessionID, _ change: (inout DisconnectWrites) -> Void
  ) {
    guard var session = sessions.removeValue(forKey: id) else { return }
    let before = session.disconnect.bytes
    change(&session.disconnect)
    disconnects.account(before, session.disconnect.bytes)
    sessions[id] = session
  }

  /// Runs the onDisconnect operations of a session, one write for each request. Of a request that
  /// is now refused, the parts that are still allowed are written.
  mutating func runDisconnect(of id: SessionID, now: Int64) {
    guard let session = sessions[id], !session.disconnect.isEmpty || !session.log.isEmpty else {
      return
    }
    changeDisconnect(of: id) { $0 = DisconnectWrites() }
    let before = root
    var staged: [StagedWrite] = []
    var refused: [Response.Status: Int] = [:]
    /// Returns whether the write is allowed. Each write sees the earlier ones.
    func stage(_ write: PendingWrite, isLast: Bool) -> Bool {
      switch self.stage(write, now: now) {
      case .success(let new):
        staged.append(new)
        root = new.root
        return true
      case .failure(let refusal):
        guard isLast else { return false }
        refused[refusal.response.status, default: 0] += 1
        outputs.append(
          .note("At a disconnect \(write.base) was not written: \(refusal.response)"))
        if let decision = refusal.decision { log(decision, "A write at a disconnect") }
        return false
      }
    }
    for unit in session.disconnect.units {
      let whole = PendingWrite(
        base: unit.base, changes: unit.changes, isMerge: unit.isMerge, hash: nil,
        origin: .disconnect(id))
      if stage(whole, isLast: unit.changes.count == 1) || unit.changes.count == 1 { continue }
      for change in unit.changes {
        let part = PendingWrite(
          base: change.path, changes: [change], isMerge: false, hash: nil, origin: .disconnect(id))
        _ = stage(part, isLast: true)
      }
    }
    root = before
    for (status, count) in refused.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      outputs.append(.log("At a disconnect \(count) nodes were not written: \(status)"))
    }
    apply(staged, ended: session, now: now)
  }
}
