import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import Logging

/// Does the steps of an engine of documents, one after the other: its parts decide, each over its own state.
///
/// Writes that follow one another share a commit; any other step first queues what waits.
final class DocumentLoop: StepHandler {
  let store: DocumentStore
  let user: SignedInUser
  let listening: Listening
  let writes: DocumentWrites
  let sending: WriteSending
  let recovery: StorageRecovery
  let network: NetworkUse
  let gets: DocumentGets
  let queue: DocumentQueue
  let bundles: Bundles
  let kept: KeptQueries
  let outbox: Outbox
  let lifetime: EngineLifetime
  private let faults: StepFaults
  private let alarm: Alarm
  /// How many steps were done.
  private(set) var stepCount = 0
  /// Who waits until the engine has nothing to do.
  private var settlers: [@Sendable (Int) -> Void] = []

  init(
    _ setup: FirestoreConfiguration, _ registry: ListenerRegistry,
    _ steps: StepQueue<DocumentLoop>
  ) {
    let post: @Sendable (DocumentStep) -> Void = { [weak steps] in steps?.post($0) }
    let engine = EngineStorage(setup.logger)
    outbox = Outbox(engine, setup.callbackQueue)
    store = DocumentStore(setup, engine, outbox)
    user = SignedInUser(setup, post)
    faults = StepFaults(setup.logger)
    recovery = StorageRecovery(setup.clock, setup.logger)
    alarm = Alarm(setup.clock) { post(.tick) }
    let service = setup.effectiveTransport?.service
    let watch = WatchSlot(
      setup, user,
      connect: { token, number in
        service?.openWatch(token: token) { post(.watch(number, $0)) }
      }, end: { $0.close() }, failed: { post(.watch($1, .closed($0))) })
    let write = WriteSlot(
      setup, user,
      connect: { token, number in
        service?.openWrites(token: token) { post(.writeStream(number, $0)) }
      }, end: { $0.close() }, failed: { post(.writeStream($1, .closed($0))) })
    listening = Listening(setup, store, outbox, registry, watch, faults)
    let durability = DurabilityWaits { [weak steps] backend in steps?.harden(backend) }
    writes = DocumentWrites(setup, store, listening, outbox, durability, post)
    sending = WriteSending(store, writes, write, faults, recovery)
    network = NetworkUse(hasServer: service != nil, listening, sending, recovery)
    gets = DocumentGets(
      setup: setup, store: store, listening: listening, user: user, network: network,
      outbox: outbox, post: post)
    queue = DocumentQueue(store: store, writes: writes, sending: sending)
    bundles = Bundles(store: store, listening: listening, outbox: outbox)
    kept = KeptQueries(store, listening, setup.logger)
    lifetime = EngineLifetime(
      setup: setup, store: store, user: user, listening: listening, writes: writes,
      kept: kept, network: network, recovery: recovery, registry: registry)
  }

  var durability: DurabilityWaits { writes.durability }

  // MARK: Steps

  /// Does a step, and what waited to know who is signed in.
  nonisolated(nonsending) func perform(_ step: DocumentStep) async {
    stepCount += 1
    await performOne(step)
    for step in user.takeReady() { await performOne(step) }
  }

  private nonisolated(nonsending) func performOne(_ step: DocumentStep) async {
    if user.holdBack(step) { return }
    switch step {
    case .write(let mutations, let caller):
      if writes.mustFollowCommit(mutations) { queueWrites() }
      writes.add(mutations, caller)
      if writes.isFull { queueWrites() }
      return
    case .receiptReleased(let id): return writes.progress.released(id)
    default: queueWrites()
    }
    switch step {
    case .write, .receiptReleased: break
    case .open: await lifetime.open()
    case .watch(let number, let event):
      if number == listening.watch.number { listening.happened(event) }
    case .writeStream(let number, let event):
      if number == sending.slot.number { sending.happened(event) }
    case .tick: tick()
    case .tokenDidChange: user.identify()
    case .tokenAnswered(let answer, let number): answered(answer, number)
    case .run(_, let body): body(self)
    case .close(let done): await close(done)
    }
    endStep()
  }

  /// Does what is left to do when no step waits.
  func drain() {
    queueWrites()
    endStep()
    if user.questionCount == 0 {
      let waiting = settlers
      settlers = []
      for settler in waiting { outbox.addCall { [stepCount] in settler(stepCount) } }
      outbox.callApp()
    }
  }

  /// Tells once the engine has nothing to do, on the callback queue, with the number of steps that were done.
  func settle(_ body: @escaping @Sendable (Int) -> Void) { settlers.append(body) }

  private func queueWrites() {
    guard writes.hasUnqueued else { return }
    writes.queueAll()
    sending.queued()
  }

  /// Goes offline when the storage failed, forgets what nothing needs, and tells the app.
  private func endStep() {
    if faults.hasFault {
      let refused = faults.take()
      // The first thing that the storage takes in again shows that it works.
      recovery.failed(trial)
      network.update()
      for event in refused { listening.notStored(event) }
    }
    network.update()
    listening.collect()
    outbox.callApp()
    let deadlines = [listening.deadline, sending.deadline, recovery.retry, user.deadline]
    alarm.wake(at: deadlines.compactMap { $0 }.min())
  }

  /// Commits something that tells nothing.
  private func trial() throws(StoreError) {
    try store.commit([
      .setMetadata(store.tree, "conifer.trial", [1]), .documents(store.tree, []),
    ])
  }

  private func tick() {
    alarm.rang()
    recovery.tick()
    network.update()
    user.settle()
    user.tick()
    listening.tick()
    sending.tick()
  }

  /// The next attempts to open streams come at once.
  func skipBackoff() {
    listening.skipBackoff()
    sending.skipBackoff()
  }

  // MARK: Users

  private func answered(_ answer: SignedInUser.Answer, _ number: UInt64) {
    if case .user(let token) = user.answered(answer, number) { change(to: token) }
    user.settle()
  }

  /// Another user is signed in: the streams begin anew, and listeners see that user's writes.
  private func change(to token: AuthToken?) {
    _ = recovery.attempt { [self] () throws(StoreError) in
      try network.pause { () throws(StoreError) in
        try show(token?.identity ?? "")
        user.shows(token)
      }
    }
  }

  private func show(_ identity: String) throws(StoreError) {
    guard let old = store.lane else { return }
    let new = Lane(tree: old.tree, identity: identity)
    let sources = listening.listens.listenedSources
    var collections: [CollectionPath?] =
      sources.contains { if case .group = $0 { true } else { false } } ? [nil] : []
    if collections.isEmpty {
      collections = Set(sources.compactMap(\.collection)).sorted().map { $0 }
    }
    let documents = try store.read { (view, _) throws(StoreError) in
      var paths: Set<DocumentPath> = []
      for collection in collections {
        for lane in [old, new] {
          paths.formUnion(try view.overlays(lane, in: collection).map(\.path))
        }
      }
      var documents: [Document] = []
      for path in paths.sorted() { documents.append(try view.document(new, path)) }
      return documents
    }
    try store.commit([.setMetadata(old.tree, SignedInUser.name, Array(identity.utf8))])
    store.engine.show(new)
    sending.userChanged()
    writes.userChanged()
    listening.changed(documents)
    kept.userChanged()
  }

  // MARK: The end

  /// Ends all work, makes it durable and closes the storage.
  private nonisolated(nonsending) func close(_ done: @Sendable () -> Void) async {
    if let backend = lifetime.end() { await store.engine.closeBackend(backend) }
    for step in user.takeReady() { await performOne(step) }
    done()
  }
}

extension DocumentQuery.Source {
  /// The collection that it looks in; nil for a group.
  fileprivate var collection: CollectionPath? {
    switch self {
    case .collection(let collection): collection
    case .document(let path): path.collection
    case .group: nil
    }
  }
}
