import ConiferKeyValue
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import Logging
import Synchronization

extension Engine {
  /// Opens the storage, shows nothing of it yet, and lets the connection begin.
  ///
  /// Neither queue nor cache is read: what was kept of the last user, the number of the last write and
  /// the pins are.
  func open() async {
    if let fault = setup.fault {
      phase = .failed(fault)
      return report(fault)
    }
    do throws(StoreError) {
      let (backend, salvage) = try await setup.effectiveStorage.openOrSalvage()
      if let salvage {
        setup.logger.error("the store was damaged and salvaged", metadata: ["report": "\(salvage)"])
      }
      do throws(StoreError) {
        try await begin(backend)
      } catch {
        try? await backend.close()
        throw error
      }
    } catch {
      let error = DatabaseError(error, "The storage could not be opened")
      phase = .failed(error)
      report(error)
    }
  }

  private func begin(_ backend: any StorageBackend) async throws(StoreError) {
    let id = try await backend.tree(named: setup.namespace)
    await declareIndexes(backend, id)
    let (kept, change) = try backend.read { (view) throws(StoreError) in
      (try view.metadata(id, Self.tokenName), try view.metadata(id, Self.changeName))
    }
    identity = IdentityGate(isChangeStored: change != nil)
    let usesTokens = setup.tokenProvider != nil
    let token =
      usesTokens && setup.keepsLastToken
      ? kept.flatMap { UserToken(stored: $0) } : nil
    let lane = Lane(tree: id, identity: token?.identity ?? "")
    let newest = try backend.read { (view) throws(StoreError) in try view.totals(lane).newest }
    phase = .open(backend, lane)
    tree = SyncTree(cache: StoredCache(backend, id, setup.logger))
    link.machine = ConnectionMachine(
      namespace: setup.namespace, lane: lane, newest: newest, usesTokens: usesTokens,
      token: token, isChanging: change != nil, seed: setup.random())
    if let token { authState.set(.known(identity: token.identity)) }
    if kept != nil, !setup.keepsLastToken { keep(nil) }
    reportIncidents()
    // A write of an app that just starts is that of who is signed in, not nobody's.
    if let identification = link.machine?.identification { identify(identification) }
    if isAway.load(ordering: .relaxed) { tell(.close(.offline)) }
    if let transport = setup.transport {
      link.watch = transport.watchNetwork { [weak self] in self?.post(.tell(.networkReturned)) }
    } else {
      tell(.close(.suspended))
    }
    tell(.open(.starting))
  }

  private func declareIndexes(_ backend: any StorageBackend, _ tree: TreeID) async {
    do throws(StoreError) {
      _ = try await backend.commit(
        [.setIndexes(tree, setup.indexes)], min(.process, backend.traits.store.strongest))
    } catch {
      // Queries are answered all the same, only slower.
      guard !setup.indexes.isEmpty else { return }
      setup.logger.error("indexes are not kept", metadata: ["cause": "\(error)"])
    }
  }

  private func report(_ error: DatabaseError) {
    setup.logger.error("\(error.message)", metadata: ["code": "\(error.code)"])
  }

  /// Ends all work, makes it durable and closes the storage.
  func closeAll() async {
    // What is under way is of unknown outcome from now on.
    tell(.close(.suspended))
    settle()
    identity.cancelQuestions()
    identify(.known)
    giveUpTransactions(.databaseClosed)
    link.machine = nil
    link.connection = nil
    link.watch?.stop()
    link.watch = nil
    let closing = backend
    queuedValues = nil
    phase = .closed
    isConnected.set(false)
    authState.finish()
    isConnected.finish()
    let error = phaseError
    for registration in registrations.sorted {
      registrations.forget(registration.id)
      outbox.append { registration.cancel(error) }
    }
    for get in gets.removeAll() { outbox.append { get.completion(.failure(error)) } }
    for completion in disconnects.removeAll() { outbox.append { completion(error) } }
    for follower in writes.removeFollowers() {
      follower.receipt?.close(error)
      if let completion = follower.completion { outbox.append { completion(error) } }
    }
    guard let closing else { return }
    do throws(StoreError) {
      try await closing.close()
    } catch {
      report(DatabaseError(error, "The storage was not closed in order"))
    }
  }

  /// Gives up all waiting writes, transactions and onDisconnects of the user; each is told, after
  /// listeners were told of the data without them.
  func discardAll() {
    guard let lane else { return }
    let now = moment
    let actions = link.machine?.handle(.purge, at: now) ?? []
    // Answers that were held back are answers all the same.
    for action in actions where action.isHeldAnswer { act(action) }
    commitUnits()
    add([.purge(lane)]) { [self] result in
      defer { link.add(actions.filter { !$0.isHeldAnswer }) }
      if case .failure(let error) = result {
        report(DatabaseError(error, "No write was purged"))
        return sendQueueAnew(lane)
      }
      let reverted = tree.revertAll()
      let followed = writes.purge(lane)
      raise(reverted)
      giveUpTransactions(.writeCanceled)
      let error = DatabaseError(.writeCanceled, "The app purged what was waiting.")
      for id in followed { tell(writes.end(id, .discarded), .discarded, error) }
    }
  }

  /// Lets the connection know again what is in the queue, which it takes for empty.
  private func sendQueueAnew(_ lane: Lane) {
    var last: WriteID?
    while true {
      let after = last
      let page = read { (view, _) throws(StoreError) in
        try view.writes(lane, after: after, limit: 64)
      }
      guard let page, let end = page.last else { return }
      for write in page { tell(.write(OutboundWrite(lane, write))) }
      last = end.id
    }
  }
}

extension ConnectionAction {
  /// Whether it is the server's answer to something that changes data.
  fileprivate var isHeldAnswer: Bool {
    switch self {
    case .writeAnswered: true
    case .putAnswered(_, let response, _): !response.isLocal
    default: false
    }
  }
}

extension Response {
  /// Whether no server gave it.
  fileprivate var isLocal: Bool {
    [.disconnect, .writeCanceled, .identityChanged].contains(status)
  }
}
