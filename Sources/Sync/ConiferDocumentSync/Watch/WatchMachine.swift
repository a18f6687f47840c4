package import ConiferDocument
package import ConiferWire

/// What a watch machine asks for.
package enum WatchAction: Sendable, Hashable {
  /// The stream is to be opened, as soon as its back-off allows.
  case openStream
  /// Nothing is listened to: the stream is to be closed, once it has been idle for long enough.
  case idle
  /// A target is to be added on the stream.
  case add(WatchTarget)
  /// A target is to be removed on the stream.
  case remove(TargetID)
  /// The store and the views are to take in what the server said; then `stored` is called.
  case event(RemoteEvent)
  /// The server refused a target, or ended it; or what it says of it cannot be read.
  case rejected(TargetID, StatusError)
  /// The log is to be told of something that is passed over.
  case log(WatchFault)
}

/// What the server is asked for, and what it says until that is consistent.
///
/// The client's state of a target counts from when the store has it (`stored`). A stream that
/// breaks earlier resumes from the stored state.
package struct WatchMachine: Sendable {
  private enum Stream: Sendable {
    /// Nothing is listened to, or the network is off.
    case closed
    /// It was asked for.
    case opening
    /// The newest snapshot may not be stored yet.
    case open(WatchAggregator, newest: Timestamp)
  }

  private let database: DatabaseID
  private var isEnabled: Bool
  private var stream = Stream.closed
  /// What is listened to.
  package private(set) var targets: [TargetID: WatchTarget] = [:]
  /// As of when the store has what the server said.
  private var storedVersion: Timestamp

  /// - Parameters:
  ///   - database: the database that documents are in.
  ///   - isEnabled: whether the app lets the network be used.
  ///   - storedVersion: the newest moment of the server's that the store knows.
  package init(_ database: DatabaseID, isEnabled: Bool = true, storedVersion: Timestamp = .zero) {
    self.database = database
    self.isEnabled = isEnabled
    self.storedVersion = storedVersion
  }

  // MARK: What is listened to

  /// A target is listened to from now on.
  package mutating func listen(
    _ target: WatchTarget, matched: (TargetID) -> MatchedPaths
  ) -> [WatchAction] {
    guard targets[target.id] == nil else { return [] }
    targets[target.id] = target
    switch stream {
    case .closed: return openIfNeeded()
    case .opening: return []
    case .open: return [add(target, matched)]
    }
  }

  /// A target is no longer listened to.
  package mutating func unlisten(_ id: TargetID) -> [WatchAction] {
    guard targets.removeValue(forKey: id) != nil else { return [] }
    var actions: [WatchAction] = []
    if case .open = stream { actions.append(remove(id)) }
    if targets.isEmpty, isStreamWanted { actions.append(.idle) }
    return actions
  }

  /// Whether the online state is unknown: nothing is listened to, and no stream is open.
  package var isOnlineStateUnknown: Bool {
    guard isEnabled, targets.isEmpty else { return false }
    return if case .open = stream { false } else { true }
  }

  private var isStreamWanted: Bool { if case .closed = stream { false } else { true } }

  private mutating func openIfNeeded() -> [WatchAction] {
    guard isEnabled, !isStreamWanted, !targets.isEmpty else { return [] }
    stream = .opening
    return [.openStream]
  }

  private mutating func add(
    _ target: WatchTarget, _ matched: (TargetID) -> MatchedPaths
  ) -> WatchAction {
    note(.add, target.id)
    var target = target
    if !target.resumeToken.isEmpty || target.version > .zero {
      target.expectedCount = matched(target.id).count
      change { $0.resume(target.id) }
    }
    return .add(target)
  }

  private mutating func remove(_ id: TargetID) -> WatchAction {
    note(.remove, id)
    return .remove(id)
  }

  private mutating func note(_ request: TargetState.Request, _ id: TargetID) {
    change { $0.sent(request, id) }
  }

  private mutating func change(_ body: (inout WatchAggregator) -> Void) {
    guard case .open(var aggregator, let newest) = stream else { return }
    stream = .closed
    body(&aggregator)
    stream = .open(aggregator, newest: newest)
  }

  // MARK: The stream

  /// The app lets the network be used, or not. A stream that is not to be used is closed by the caller.
  package mutating func setEnabled(_ isEnabled: Bool) -> [WatchAction] {
    self.isEnabled = isEnabled
    guard !isEnabled else { return openIfNeeded() }
    stream = .closed
    return []
  }

  /// The stream is open: all targets are asked for. All may have left meanwhile.
  package mutating func streamOpened(
    matched: (TargetID) -> MatchedPaths
  ) -> [WatchAction] {
    guard case .opening = stream else { return [] }
    stream = .open(WatchAggregator(database), newest: storedVersion)
    let requests = targets.values.sorted { $0.id < $1.id }.map { add($0, matched) }
    return requests.isEmpty ? [.idle] : requests
  }

  /// The stream broke, could not be opened, or was closed since it was idle; it is opened again
  /// when something is listened to.
  package mutating func streamClosed() -> [WatchAction] {
    stream = .closed
    return openIfNeeded()
  }

  /// The server said something of documents alone, and no moment: nothing is consistent yet.
  package mutating func received(
    documents changes: consuming [WatchChange], matched: (TargetID) -> MatchedPaths
  ) -> [WatchAction] {
    guard case .open(var aggregator, let newest) = stream else { return [] }
    stream = .closed
    aggregator.take(changes, targets, matched)
    let actions = aggregator.takeFaults().map(WatchAction.log)
    stream = .open(aggregator, newest: newest)
    return actions
  }

  /// The server said something.
  ///
  /// - Parameters:
  ///   - change: what it said.
  ///   - version: the moment up to which all was said of all targets; nil when that is still to come.
  ///   - matched: the documents that the server said match a target, up to the last event.
  package mutating func received(
    _ change: WatchChange, version: Timestamp? = nil, matched: (TargetID) -> MatchedPaths
  ) -> [WatchAction] {
    guard case .open(var aggregator, let newest) = stream else { return [] }
    // Taken out meanwhile, so that it has one owner and is changed without being copied.
    stream = .closed
    switch change {
    case .targets(.rejected(let error), let ids, _):
      let refused = (ids.isEmpty ? aggregator.all : ids).filter {
        aggregator.refuse($0) && targets.removeValue(forKey: $0) != nil
      }
      stream = .open(aggregator, newest: newest)
      return refused.map { .rejected($0, error) }
    case .unreadable(let error, let ids)
    where ids.contains(where: { aggregator.isActive($0, targets) }):
      let ended = ids.filter { aggregator.isActive($0, targets) }
      stream = .open(aggregator, newest: newest)
      // The server does not know that they are no longer wanted, so they are removed on the stream.
      return ended.flatMap { unlisten($0) } + ended.map { .rejected($0, error) }
    default: break
    }
    aggregator.take([change], targets, matched)
    // A snapshot before the newest one is outdated, unless the server's clock was wrong or this is
    // another server.
    // A replica that lags and keeps no history also restarts all targets.
    let isNew = aggregator.indicatesNewServer
    let serverTimeWentBack =
      version.map {
        (isNew && newest.isAhead(of: $0))
          || (newest.isFarAhead(of: $0) && aggregator.countsAsClockReset())
      } ?? false
    if let version, version < newest {
      if isNew, !serverTimeWentBack { aggregator.newServerLagged() }
      aggregator.pass(
        serverTimeWentBack ? .wentBack(version, newest: newest) : .past(version, newest: newest))
    }
    var actions = aggregator.takeFaults().map(WatchAction.log)
    guard let version, version >= newest || serverTimeWentBack else {
      stream = .open(aggregator, newest: newest)
      return actions
    }
    var event = aggregator.event(at: version, targets, matched)
    event.serverTimeWentBack = aggregator.takeReplacesNewer() || serverTimeWentBack
    if serverTimeWentBack, !isNew { restartTargets(targets.keys, &event, matched) }
    stream = .open(aggregator, newest: version)
    actions += requests(for: event, matched)
    return actions + [.event(event)]
  }

  /// Restarts the targets of which the client has wrong documents. If the event cannot be stored,
  /// the resume token stays, so that the server reports the mismatch again.
  private mutating func requests(
    for event: RemoteEvent, _ matched: (TargetID) -> MatchedPaths
  ) -> [WatchAction] {
    guard case .open = stream else { return [] }
    var actions: [WatchAction] = []
    for (id, purpose) in event.mismatches.sorted(by: { $0.key < $1.key }) {
      guard let target = targets[id] else { continue }
      actions.append(remove(id))
      actions.append(add(WatchTarget(id, target.target, purpose), matched))
    }
    return actions
  }

  /// The store lost some of what it had: these targets are asked for anew.
  package mutating func lost(
    _ lost: Set<TargetID>, matched: (TargetID) -> MatchedPaths
  ) -> [WatchAction] {
    var event = RemoteEvent(version: storedVersion)
    restartTargets(lost, &event, matched)
    return requests(for: event, matched) + [.event(event)]
  }

  /// Makes an event ask for targets from the beginning, because the client's data of them is
  /// wrong. Targets in limbo are always asked for from the beginning.
  private func restartTargets(
    _ wrong: some Sequence<TargetID>, _ event: inout RemoteEvent,
    _ matched: (TargetID) -> MatchedPaths
  ) {
    for target in wrong.compactMap({ targets[$0] }) where target.purpose != .limboResolution {
      event.targets[target.id] = TargetChange(
        isCurrent: false, removed: matched(target.id).sorted())
      event.mismatches[target.id] = .listen
    }
  }

  /// Up to when the store has all that the server has to say of a target; nil when the server has not said all of it on this
  /// stream.
  package func completeness(of id: TargetID) -> Timestamp? {
    guard targets[id] != nil, case .open(let aggregator, _) = stream,
      let since = aggregator.completeSince(id), since <= storedVersion
    else { return nil }
    return storedVersion
  }

  /// The store has taken in an event.
  package mutating func stored(_ event: RemoteEvent) {
    storedVersion = event.serverTimeWentBack ? event.version : max(storedVersion, event.version)
    for id in event.mismatches.keys {
      targets[id]?.resumeToken = []
      targets[id]?.version = .zero
    }
    for (id, change) in event.targets where !change.resumeToken.isEmpty {
      // The resume token of a target that is restarted belongs to the wrong data.
      guard event.mismatches[id] == nil else { continue }
      targets[id]?.resumeToken = change.resumeToken
      targets[id]?.version = event.version
    }
  }
}
