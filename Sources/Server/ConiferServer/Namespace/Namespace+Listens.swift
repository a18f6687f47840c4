import ConiferQuery
import ConiferStorage
import ConiferTree
import ConiferWire

extension Namespace {
  /// Begins a listen: sends what the client has not, and says so.
  mutating func listen(
    _ target: QueryTarget, tag: Int?, hash: String, compound: CompoundHash?, of id: SessionID,
    now: Int64
  ) -> Response {
    if let refusal = refusal(toRead: target, of: id, now: now) { return refusal }
    let key = ListenKey(target: target.normalized, tag: tag)
    if sessions[id]?.listens[key] == nil, (sessions[id]?.listens.count ?? 0) >= limits.listens {
      return Response(
        .failure, reason: "The session has \(limits.listens) listens. End some of them.")
    }
    unlisten(target, tag: tag, of: id)
    var listen = Listen(session: id, key: key)
    let data: Node
    if key.target.spec.loadsAllData {
      data = root[target.path]
    } else {
      let window = QueryWindow(key.target.spec, of: root[target.path])
      data = window.result
      listen.window = window
    }
    lastListen += 1
    let listenID = ListenID(rawValue: lastListen)
    listens[listenID] = listen
    places.insert(listenID, at: target.path)
    sessions[id]?.listens[key] = listenID
    if hash != NodeHash.hash(data) {
      let merges = compound.map { $0.paths.isEmpty ? [] : $0.merges(to: data) } ?? []
      send(
        id,
        .push(
          merges.isEmpty
            ? .overwrite(target.path, data, tag: tag)
            : .rangeMerge(target.path, merges, tag: tag)))
    }
    return Response(.ok, warnings: isUnindexed(key.target) ? ["no_index"] : [])
  }

  mutating func unlisten(_ target: QueryTarget, tag: Int?, of id: SessionID) {
    let key = ListenKey(target: target.normalized, tag: tag)
    if let listen = sessions[id]?.listens.removeValue(forKey: key) { forget(listen) }
  }

  mutating func forget(_ id: ListenID) {
    guard let listen = listens.removeValue(forKey: id) else { return }
    places.remove(id, at: listen.path)
  }

  func get(_ target: QueryTarget, of id: SessionID, now: Int64) -> Response {
    if let refusal = refusal(toRead: target, of: id, now: now) { return refusal }
    return Response(
      .ok, node: target.spec.filtered(root[target.path]),
      warnings: isUnindexed(target) ? ["no_index"] : [])
  }

  private func refusal(toRead target: QueryTarget, of id: SessionID, now: Int64) -> Response? {
    // Data has at most 32 levels, and there may be a priority at the lowest.
    if target.path.count > Path.deepest + 1 {
      return Response(.failure, reason: "The path has more than \(Path.deepest) keys.")
    }
    let context = context(of: id, now: now)
    if context.auth?.isAdmin == true || rules.allowsRead(target, context) { return nil }
    return Refusal.denied.response
  }

  /// Whether indexes are declared and none serves a query. Keys and priorities need none, as the
  /// Realtime Database keeps theirs.
  private func isUnindexed(_ target: QueryTarget) -> Bool {
    guard let indexes, !target.spec.loadsAllData else { return false }
    switch target.spec.index {
    case .key, .priority: return false
    case .value, .child:
      return !indexes.contains {
        $0.covers(target.path) && $0.components == [.init(target.spec.index)]
      }
    }
  }
}
