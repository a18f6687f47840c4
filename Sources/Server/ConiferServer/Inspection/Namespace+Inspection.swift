import ConiferTree

extension Namespace {
  /// A report on the namespace. It does not walk the data, and returns no more than the limits
  /// allow.
  func report(_ name: String, _ limits: InspectionLimits, now: Int64) -> NamespaceReport {
    // Selects the smallest ids without sorting all of them.
    let oldest = Self.first(limits.sessions, of: sessions.keys)
    return NamespaceReport(
      name: name, now: now,
      sessions: oldest.compactMap { id in sessions[id].map { report($0, id, limits) } },
      sessionCount: sessions.count, listenCount: listens.count, traffic: traffic,
      leafCount: root.leafCount, estimatedSize: root.isEmpty ? 0 : root.estimatedSize)
  }

  private func report(
    _ session: Session, _ id: SessionID, _ limits: InspectionLimits
  ) -> SessionReport {
    let shown = Self.first(limits.listens, of: session.listens.values).compactMap { listens[$0] }
    let pending = session.disconnect.changes(atMost: max(0, limits.pending) + 1)
    return SessionReport(
      id: id.rawValue, since: session.since, uid: session.auth?.uid,
      isAdmin: session.auth?.isAdmin == true,
      listens: shown.map { ListenReport(target: $0.key.target, tag: $0.key.tag) },
      listenCount: session.listens.count,
      pending: pending.prefix(max(0, limits.pending)).map { change in
        PendingReport(
          path: change.path,
          kind: change.node.isEmpty ? .remove : change.node.hasServerValues ? .setByServer : .set)
      },
      hasMorePending: pending.count > max(0, limits.pending))
  }

  /// The smallest of some numbers, in order.
  private static func first<ID: Comparable>(_ count: Int, of ids: some Collection<ID>) -> [ID] {
    guard ids.count > max(0, count) else { return ids.sorted() }
    var smallest: [ID] = []
    for id in ids {
      if smallest.count == count, let last = smallest.last, id > last { continue }
      guard count > 0 else { break }
      let place = smallest.firstIndex { $0 > id } ?? smallest.count
      smallest.insert(id, at: place)
      if smallest.count > count { smallest.removeLast() }
    }
    return smallest
  }
}
