package import ConiferDocument
package import ConiferWire

// The stream of listens: what it says, and what becomes of it.
extension ListenMachine {
  /// The stream is being opened.
  package mutating func streamStarted(at now: Milliseconds) -> [SyncAction] {
    announce(online.streamStarted(at: now))
  }

  /// The stream is open.
  package mutating func streamOpened() -> [SyncAction] {
    syncActions(watch.streamOpened(matched: matched))
  }

  /// The stream broke, could not be opened, or was closed since it was idle.
  ///
  /// - Parameter error: what ended the stream; nil when it was idle.
  package mutating func streamClosed(_ error: StatusError?) -> [SyncAction] {
    let actions = syncActions(watch.streamClosed())
    let change = error != nil && !targets.isEmpty ? online.streamFailed() : online.set(.unknown)
    return announce(change, error) + actions
  }

  /// The time of `deadline` has come; harmless before.
  package mutating func tick(at now: Milliseconds) -> [SyncAction] {
    announce(
      online.tick(at: now),
      StatusError(
        .unavailable, "It said nothing within \(OnlineTracker.messageTimeout / 1_000) seconds."))
  }

  /// The network may be used from now on, or not. A stream that is not to be used is closed by the caller.
  ///
  /// - Parameter state: the online state while the network is not used: `offline`, or `unknown`
  ///   when the pause is short.
  package mutating func setEnabled(
    _ isEnabled: Bool, meanwhile state: OnlineState = .offline
  ) -> [SyncAction] {
    let actions = syncActions(watch.setEnabled(isEnabled))
    return announce(online.set(isEnabled ? .unknown : state)) + actions
  }

  /// The server said something of documents alone, and no moment.
  package mutating func received(documents changes: consuming [WatchChange]) -> [SyncAction] {
    let actions = announce(online.set(.online))
    return actions + syncActions(watch.received(documents: changes, matched: matched))
  }

  /// The server said something; see `WatchMachine.received`.
  package mutating func received(
    _ change: WatchChange, version: Timestamp? = nil
  ) -> [SyncAction] {
    let actions = announce(online.set(.online))
    return actions + syncActions(watch.received(change, version: version, matched: matched))
  }

  /// - Parameter cause: why the server counts as one that cannot be reached, where it does.
  mutating func announce(
    _ change: OnlineTracker.Change?, _ cause: StatusError? = nil
  ) -> [SyncAction] {
    guard let change else { return [] }
    var actions: [SyncAction] = []
    if change.isWarning, let cause { actions.append(.warnOffline(cause)) }
    let inOrder = sources.inOrder
    for number in inOrder {
      guard let target = listened[number]?.target else { continue }
      for index in 0..<(listened[number]?.listeners.count ?? 0) {
        guard let told = listened[number]?.listeners[index].gate.onlineChanged(to: change.state),
          let id = listened[number]?.listeners[index].id
        else { continue }
        actions.append(.tell(id, told, target))
      }
    }
    guard change.state == .offline else { return actions }
    for number in inOrder { actions += goOffline(number) }
    return actions
  }

  /// What a view shows may differ from the server's until its target is current again.
  mutating func goOffline(_ number: ViewNumber) -> [SyncAction] {
    if let target = listened[number]?.target {
      listened[number]?.refill?.event?.targets[target]?.isCurrent = false
    }
    return tell(number, listened[number]?.view.goOffline().snapshot)
  }

  // MARK: What the parts ask for

  mutating func syncActions(_ actions: [WatchAction]) -> [SyncAction] {
    actions.flatMap { action -> [SyncAction] in
      switch action {
      case .openStream: return [.openStream]
      case .idle: return [.idle]
      case .add(let target): return [.add(target)]
      case .remove(let target): return [.remove(target)]
      case .event(let event): return [.store(event)]
      case .rejected(let target, let error): return refused(target, error)
      case .log(let fault): return [.log(fault)]
      }
    }
  }

  mutating func syncActions(_ actions: [LimboAction]) -> [SyncAction] {
    actions.flatMap { action -> [SyncAction] in
      switch action {
      case .listen(let target): syncActions(watch.listen(target, matched: matched))
      case .unlisten(let target): syncActions(watch.unlisten(target))
      }
    }
  }

  mutating func refused(_ target: TargetID, _ error: StatusError) -> [SyncAction] {
    if let event = limbo.refusal(of: target) { return [.store(event)] }
    var actions: [SyncAction] = []
    for number in viewsByTarget[target] ?? [] {
      for listener in listened[number]?.listeners ?? [] {
        viewOf[listener.id] = nil
        actions.append(.fail(listener.id, error))
      }
      actions += end(number)
    }
    return actions
  }
}
