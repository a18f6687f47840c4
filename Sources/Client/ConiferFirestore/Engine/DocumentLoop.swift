import ConiferDocument
import ConiferDocumentSync
import ConiferEngine
import ConiferKeyValue
import ConiferStorage
import ConiferWire
import Logging

/// Performs the steps of an engine of documents, one after the other: its parts decide, each over its own state.
///
/// Writes that follow one another share a commit; any other step first queues what waits.
final class DocumentLoop: StepHandler {
  /// How many listeners that begin are stored together at most.
  private static let largestGroup = 64

  let gets: DocumentGets
  let queue: DocumentQueue
  let bundles: Bundles
  let outbox: Outbox
  private let lifetime: EngineLifetime
  private let change: UserChange
  private let alarm: Alarm
  let drains = QueueDrains()
  let usage: UsageWatch
  let handOver: HandOver
  /// Whether the storage is suspended, and what waits until it is resumed.
  private var suspension = Suspension<DocumentStep>()
  private var idleWaiters = IdleWaiters()
  /// Listeners that are to begin, and follow one another.
  private var beginnings: [ListenerBeginning] = []

  init(
    _ setup: FirestoreConfiguration, _ authority: (any LocalAuthority)?,
    _ registry: ListenerRegistry, _ steps: StepQueue<DocumentLoop>
  ) {
    let post: @Sendable (DocumentStep) -> Void = { [weak steps] in steps?.post($0) }
    let engine = EngineStorage(setup.logger, authority: authority)
    outbox = Outbox(engine, setup.callbackQueue)
    let store = DocumentStore(setup, engine, outbox)
    usage = UsageWatch(engine, outbox, postLook: { post(.run(.none) { _ in }) })
    let user = SignedInUser(setup, store, post)
    let recovery = StorageRecovery(setup.clock, setup.logger)
    alarm = Alarm(setup.clock) { post(.tick) }
    let service = setup.effectiveTransport?.service
    let watch = PersistentWatchStream(
      setup, user,
      connect: { token, number in
        service?.openWatch(token: token) { post(.watch(number, $0)) }
      }, end: { $0.close() }, failed: { post(.watch($1, .closed($0))) })
    let write = PersistentWriteStream(
      setup, user,
      connect: { token, number in
        service?.openWrites(token: token) { post(.writeStream(number, $0)) }
      }, end: { $0.close() }, failed: { post(.writeStream($1, .closed($0))) })
    let listening = Listening(setup, store, outbox, registry, watch, recovery)
    let durability = DurabilityWaits { [weak steps] backend in steps?.harden(backend) }
    let writes = DocumentWrites(
      setup, store, listening, recovery, outbox, durability, post)
    let sending = WriteSending(store, writes, write, recovery, post)
    let queue = DocumentQueue(store: store, writes: writes, sending: sending, user: user)
    let handOver = HandOver(
      drains, setup.clock, setup.logger, left: { queue.left() },
      endedCount: { writes.progress.endedCount },
      postLook: { number, ended in
        post(.run(.none) { $0.handOver.look(number, endedBefore: ended) })
      })
    (self.queue, self.handOver) = (queue, handOver)
    let network = NetworkUse(setup.effectiveTransport, listening, sending, recovery, handOver) {
      post(.run(.none) { $0.skipBackoff() })
    }
    gets = DocumentGets(
      setup: setup, store: store, listening: listening, user: user, network: network,
      outbox: outbox, post: post)
    bundles = Bundles(store, listening, outbox, post)
    let pinned = PinnedQueries(store, listening, setup)
    change = UserChange(
      store: store, user: user, listening: listening, writes: writes, sending: sending,
      pinned: pinned,
      network: network, recovery: recovery)
    lifetime = EngineLifetime(
      setup: setup, store: store, user: user, listening: listening, writes: writes,
      sending: sending, pinned: pinned, network: network, recovery: recovery, registry: registry,
      post: post)
  }

  var durability: DurabilityWaits { writes.durability }
  var store: DocumentStore { lifetime.store }
  var user: SignedInUser { lifetime.user }
  var listening: Listening { lifetime.listening }
  var writes: DocumentWrites { lifetime.writes }
  var pinned: PinnedQueries { lifetime.pinned }
  var network: NetworkUse { lifetime.network }
  var recovery: StorageRecovery { lifetime.recovery }
  var sending: WriteSending { change.sending }

  // MARK: Steps

  /// Does steps, and after each what waited to know who is signed in.
  nonisolated(nonsending) func perform(_ steps: consuming [DocumentStep]) async {
    if steps.contains(where: \.usesStorage) { store.engine.housekeeping?.used() }
    await performAll(steps)
  }

  private nonisolated(nonsending) func performAll(_ steps: consuming [DocumentStep]) async {
    for index in steps.indices {
      idleWaiters.steps += 1
      // Taken out, so that what it holds is neither copied nor held longer than it takes.
      var step = DocumentStep.nothing
      swap(&step, &steps[index])
      if isGathered(step) {
        gather(step)
      } else {
        await performOne(step)
        for step in user.takeReady() { await performOne(step) }
      }
    }
  }

  private nonisolated(nonsending) func performOne(_ step: DocumentStep) async {
    if step.awaitsStorage, suspension.holdBack(step) { return }
    takeInGathered()
    if case .listen(let beginning) = step {
      queueWrites()
      beginnings.append(beginning)
      if beginnings.count >= Self.largestGroup { begin() }
      return
    }
    begin()
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
    case .nothing, .write, .receiptReleased, .listen: break
    case .open: await lifetime.open()
    case .watch(let number, let event):
      if number == listening.watch.number { listening.happened(event) }
    case .writeStream(let number, let event):
      if number == sending.serverStream.number { sending.happened(event) }
    case .tokenHardened(let number, let token, let result):
      if number == sending.serverStream.number { sending.tokenHardened(token, result) }
    case .storageDamaged: store.storageMetDamage()
    case .tick: tick()
    case .tokenDidChange: user.identify()
    case .tokenAnswered(let answer, let number): answered(answer, number)
    case .run(_, let body): body(self)
    case .handOver(let done):
      if suspension.isSuspended || store.engine.hasEnded { done() } else { handOver.begin(done) }
    case .suspend(let done): done(await suspend())
    case .resume(let done): await resume(done)
    case .close(let done): await close(done)
    }
    endStep()
  }

  // MARK: Suspension

  /// Closes the streams, makes all that was accepted durable, and lets go of the storage; gives why not.
  private nonisolated(nonsending) func suspend() async -> FirestoreError? {
    if suspension.isSuspended {
      do throws(DatabaseError) {
        try await store.engine.releaseAgain()
      } catch { return FirestoreError(error) }
      return nil
    }
    drains.endAll(queue.left)
    network.setSuspended(true)
    endStep()
    listening.targets.storeCompleteness()
    await durability.finish()
    do throws(DatabaseError) {
      try await store.engine.suspend()
    } catch {
      if store.engine.isReleased { suspension.begin() } else { network.setSuspended(false) }
      return FirestoreError(error)
    }
    suspension.begin()
    return nil
  }

  /// Goes on with the storage, and with all that was asked for meanwhile.
  private nonisolated(nonsending) func resume(
    _ done: @Sendable (FirestoreError?) -> Void
  ) async {
    guard suspension.isSuspended else {
      return done(store.engine.hasEnded ? store.error : nil)
    }
    do throws(DatabaseError) {
      try await store.engine.resume(change.storeChanged)
      let waiting = suspension.end()
      network.setSuspended(false)
      endStep()
      done(nil)
      await performAll(waiting)
    } catch {
      done(FirestoreError(error))
    }
  }

  /// Whether a step tells of documents alone, which changes nothing before the server's next moment: such steps are done
  /// together.
  private func isGathered(_ step: DocumentStep) -> Bool {
    guard case .watch(let number, .said(let change, version: nil)) = step, change.isOfDocument
    else { return false }
    return number == listening.watch.number && !writes.hasUnqueued && beginnings.isEmpty
  }

  private func gather(_ step: consuming DocumentStep) {
    if case .watch(_, .said(let change, _)) = consume step { listening.gather(change) }
  }

  private func takeInGathered() { if listening.takeInGathered() { endStep() } }

  /// Has the listeners begin that wait for that: their queries are stored together, and all else is done one by one.
  private func begin() {
    guard !beginnings.isEmpty else { return }
    let all = beginnings
    beginnings = []
    listening.prepare(all.lazy.map(\.query.target))
    for beginning in all {
      listening.listen(beginning.id, beginning.query, beginning.options)
      endStep()
    }
    listening.targets.endPreparing()
  }

  /// Does what is left to do when no step waits.
  func drain() {
    if suspension.isSuspended { return outbox.callApp() }
    takeInGathered()
    begin()
    queueWrites()
    endStep()
    listening.targets.storeCompleteness()
    if !user.isIdentifying, writes.inDoubt.isEmpty { drains.look(queue.left) }
    usage.look(queue.left)
    outbox.callApp()
    guard !user.isAsking, !sending.isHardeningToken else { return }
    for completion in idleWaiters.take() {
      outbox.addCall { [steps = idleWaiters.steps] in completion(steps) }
    }
    outbox.callApp()
  }

  /// Calls back once the engine has nothing to do, on the callback queue, with the number of steps
  /// that were done.
  func waitUntilIdle(_ completion: @escaping @Sendable (Int) -> Void) {
    idleWaiters.waiting.append(completion)
  }

  private func queueWrites() {
    guard writes.hasUnqueued else { return }
    writes.queueAll()
    sending.queued()
  }

  /// Goes offline when the storage failed, forgets what nothing needs, and tells the app.
  private func endStep() {
    if suspension.isSuspended { return outbox.callApp() }
    mend()
    if let faults = recovery.takeFaults() {
      // A trial commit shows that the storage works again.
      recovery.failed(faults, before: trial)
      network.update()
      for event in faults.refused { listening.notStored(event) }
    }
    network.update()
    listening.collect()
    outbox.callApp()
    alarm.wake(at: deadline)
  }

  /// The next time that a part waits for.
  private var deadline: Int64? {
    let stream = min(listening.deadline ?? .max, sending.deadline ?? .max)
    let storage = min(recovery.retry ?? .max, pinned.deadline ?? .max)
    let first = min(stream, storage, user.deadline ?? .max)
    return first == .max ? nil : first
  }

  /// Handles damage in the storage: lost writes end, and the server is asked for lost data again.
  private func mend() {
    let isDamaged = store.takeDamage()
    if isDamaged {
      _ = recovery.attempt { [writes] () throws(StoreError) in try writes.findLost() }
    }
    writes.endLost { sending.withdraw($0) }
    if isDamaged { listening.lost() }
  }

  /// Commits metadata that nothing reads, to see whether the storage works.
  private func trial() throws(StoreError) {
    try store.commit([
      .setMetadata(store.tree, MetadataName.trial, [1]), .documents(store.tree, []),
    ])
  }

  private func tick() {
    alarm.fired()
    recovery.tick()
    network.update()
    user.releaseWaitingSteps()
    user.tick()
    pinned.tick()
    listening.tick()
    sending.tick()
  }

  /// The next attempts to open streams come at once.
  func skipBackoff() {
    listening.skipBackoff()
    sending.skipBackoff()
  }

  // MARK: Users

  private func answered(_ answer: ProviderAnswer, _ number: UInt64) {
    if case .user(let token, let givenUp) = user.answered(answer, number) {
      for case .write(_, let caller) in givenUp { writes.fail(caller, .madeByAnother) }
      change.begin(token)
    }
    user.releaseWaitingSteps()
  }

  // MARK: The end

  /// Ends all work, makes it durable and closes the storage.
  private nonisolated(nonsending) func close(_ done: @Sendable () -> Void) async {
    if !suspension.isSuspended { drains.endAll(queue.left) }
    let waiting = suspension.end()
    usage.end()
    if let backend = lifetime.end() { await store.engine.closeBackend(backend) }
    for step in user.takeReady() { await performOne(step) }
    await performAll(waiting)
    done()
  }
}

/// The number of steps that were done, and the callers that wait until there is nothing to do.
private struct IdleWaiters {
  var steps = 0
  var waiting: [@Sendable (Int) -> Void] = []

  mutating func take() -> [@Sendable (Int) -> Void] {
    defer { waiting = [] }
    return waiting
  }
}
