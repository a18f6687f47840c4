import ConiferTree
import ConiferWire

extension Namespace {
  /// Registers or cancels an onDisconnect operation, at once or once that is stored.
  mutating func register(_ request: Request, _ number: UInt64, of id: SessionID, now: Int64) {
    switch admit(request, of: id, now: now) {
    case .failure(let refusal):
      if let decision = refusal.decision { log(decision, "A write at a disconnect") }
      send(id, .response(number, refusal.response))
    case .success(nil): send(id, .response(number, .ok))
    case .success((let change, _)?):
      guard storesDisconnects else {
        changeDisconnect(of: id) { change.apply(to: &$0) }
        return send(id, .response(number, .ok))
      }
      store([Registration(session: id, request: number, change: change)])
    }
  }

  /// Checks a registration or a cancellation.
  ///
  /// The rules are checked now, so that the client learns of a refusal, and again when the
  /// operation runs.
  ///
  /// - Parameter others: by how much the session's operations grow by changes that are being stored; nil for none.
  /// - Returns: the change and its maximum growth in bytes; nil when it changes nothing.
  func admit(
    _ request: Request, of id: SessionID, with others: Int? = nil, now: Int64
  ) -> Result<(DisconnectChange, Int)?, Refusal> {
    let disconnect = sessions[id]?.disconnect ?? DisconnectWrites()
    let (change, growth): (DisconnectChange, Int)
    switch request {
    case .onDisconnectCancel(let path):
      // Nothing is to be stored of what changes nothing.
      if disconnect.isEmpty, others == nil { return .success(nil) }
      (change, growth) = (.cancel(path), disconnect.growth(byForgetting: path))
    case .onDisconnectPut, .onDisconnectMerge:
      let (base, changes, isMerge): (Path, [NodeChange], Bool)
      if case .onDisconnectMerge(let path, let relative) = request {
        (base, isMerge) = (path, true)
        changes = relative.map { NodeChange(path.appending($0.path), $0.node) }
      } else if case .onDisconnectPut(let path, let node) = request {
        (base, changes, isMerge) = (path, [NodeChange(path, node)], false)
      } else {
        return .success(nil)
      }
      let write = PendingWrite(
        base: base, changes: changes, isMerge: isMerge, hash: nil, origin: .disconnect(id))
      if case .failure(let refusal) = stage(write, now: now) { return .failure(refusal) }
      change = .write(changes, base: base, isMerge: isMerge)
      growth = disconnect.growth(by: changes)
    default: return .failure(Refusal(.failure, "The request is not for a disconnect."))
    }
    let all = max(0, growth) + (others ?? 0)
    if let refusal = refusal(growing: disconnect.bytes, by: growth > 0 ? all : growth) {
      return .failure(refusal)
    }
    return .success((change, max(0, growth)))
  }

  /// Why a session's onDisconnect operations may not grow; nil when they may.
  ///
  /// - Parameters:
  ///   - held: their bytes.
  ///   - growth: the maximum growth in bytes.
  private func refusal(growing held: Int, by growth: Int) -> Refusal? {
    let size = held + max(0, growth)
    guard size <= limits.disconnect || growth <= 0 else {
      return Refusal(
        .tooBig,
        "The session's onDisconnect operations have more than \(limits.disconnect) bytes. "
          + "Cancel some of them.")
    }
    guard disconnects.reserve(held, size) else {
      return Refusal(
        .unavailable,
        "The onDisconnect operations of all sessions have more than "
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

  /// Takes the onDisconnect operations of a session and stages them over the data, one write for each request. Of a request
  /// that is now refused, the parts that are still allowed are written.
  mutating func takeDisconnect(of id: SessionID, now: Int64) -> [StagedWrite] {
    guard let session = sessions[id], !session.disconnect.isEmpty else { return [] }
    changeDisconnect(of: id) { $0 = DisconnectWrites() }
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
    for (status, count) in refused.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      outputs.append(.log("At a disconnect \(count) nodes were not written: \(status)"))
    }
    return staged
  }
}
