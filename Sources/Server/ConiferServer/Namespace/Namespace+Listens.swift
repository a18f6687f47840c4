import ConiferQuery
import ConiferStorage
import ConiferTree
import ConiferWire

extension Namespace {
  /// Begins a listen: sends the data that the client lacks, then the answer.
  mutating func listen(
    _ target: QueryTarget, tag: Int?, hash: String, compound: CompoundHash?, of id: SessionID,
    now: Int64
  ) -> Response {
    if let refusal = refusal(toRead: target, context(of: id, now: now)) { return refusal }
    let key = ListenKey(target: target.normalized, tag: tag)
    if sessions[id]?.listens[key] == nil, (sessions[id]?.listens.count ?? 0) >= limits.listens {
      return Response(
        .failure, reason: "The session has \(limits.listens) listens. End some of them.")
    }
    unlisten(target, tag: tag, of: id)
    var listen = Listen(session: id, key: key, asked: target)
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
    // A client without data also gets an empty result, as it may wait for one.
    if hash.isEmpty || !ClientHash(hash).matches(data) {
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

  mutating func get(_ target: QueryTarget, of id: SessionID, now: Int64) -> Response {
    var response = admit(target, context(of: id, now: now))
    guard response.status == .ok else { return response }
    // The answer to a get cannot carry a warning; the Realtime Database refuses the get.
    guard response.warnings.isEmpty else {
      return Response(.failure, reason: target.missingIndex)
    }
    response.node = target.spec.filtered(root[target.path])
    return response
  }

  /// Whether a read is allowed.
  ///
  /// - Parameter isStrict: whether an order without bounds needs an index too.
  mutating func admit(
    _ target: QueryTarget, _ context: AccessContext, isStrict: Bool = false
  ) -> Response {
    if let refusal = refusal(toRead: target, context) { return refusal }
    return Response(.ok, warnings: isUnindexed(target, isStrict: isStrict) ? ["no_index"] : [])
  }

  private mutating func refusal(
    toRead target: QueryTarget, _ context: AccessContext
  ) -> Response? {
    // Data has at most 32 levels, and the lowest may have a priority.
    if target.path.count > Path.deepest + 1 {
      return Response(.failure, reason: "The path has more than \(Path.deepest) keys.")
    }
    if context.auth?.isAdmin == true { return nil }
    let decision = rules.decideRead(target, context)
    if decision.isAllowed { return nil }
    log(decision, "A read")
    return Refusal.denied.response
  }

  /// Logs why the rules refuse a request.
  mutating func log(_ decision: AccessDecision, _ what: String) {
    guard let reason = decision.reason else { return }
    outputs.append(
      decision.isExhausted
        ? .log("\(what) was refused: \(reason)") : .note("\(what) was refused: \(reason)"))
  }

  /// Whether indexes are declared and none serves a query. Keys and priorities need none: the
  /// Realtime Database always has indexes for them.
  private func isUnindexed(_ target: QueryTarget, isStrict: Bool = false) -> Bool {
    let isDeclared = rules.declaresIndex(target.spec.index, at: target.path)
    guard indexes != nil || isDeclared != nil, isStrict || !target.spec.loadsAllData else {
      return false
    }
    switch target.spec.index {
    case .key, .priority: return false
    case .value, .child:
      if isDeclared == true { return false }
      return indexes?.contains {
        $0.covers(target.path) && $0.components == [.init(target.spec.index)]
      } != true
    }
  }
}

extension QueryTarget {
  /// The Realtime Database's message for a query without an index.
  package var missingIndex: String {
    "Index not defined, add \".indexOn\": \"\(spec.index)\", for path \"\(path)\", to the rules"
  }
}
