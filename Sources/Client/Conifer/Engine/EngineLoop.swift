import ConiferKeyValue
import ConiferStorage
import ConiferSync
import ConiferWire
import Logging

/// Performs the steps of an engine, one after the other: its parts decide, each over its own state, and what they ask
/// for is carried out here.
///
/// Writes that follow one another share a commit, and so do messages of the server; any other step first commits what
/// waits, and what it asks for itself is done when it ends. A released receipt alone needs no commit before it, as it
/// changes nothing that waits.
final class EngineLoop: StepHandler {
  let outbox: Outbox
  let connection: Connection
  let user: SignedInUser
  let appTokens: AppTokens
  let listening: Listening
  let pins: PinnedQueries
  let updates: ServerUpdates
  let sending: WriteSending
  let requests: QueueRequests
  let mail: MailTaker
  let mailRemoval: MailRemoval
  let gets: Gets
  let transactions: Transactions
  let disconnects: Disconnects
  let clearing: CacheClearing
  let lifetime: EngineLifetime
  let drains = QueueDrains()
  let usage: UsageWatch
  /// Whether the storage is suspended, and what waits until it is resumed.
  private var suspension = Suspension<Step>()
  /// Whether steps are being done, of which some may still queue writes.
  private var isPerforming = false
  let handOver: HandOver
  /// Schedules a check of in-doubt commits after so many milliseconds.
  private let scheduleInDoubtCheck: (Int64) -> Void
  /// The delay before the next check, in milliseconds.
  private var inDoubtCheckDelay = EngineLoop.firstInDoubtCheckDelay
  /// Whether a check is scheduled.
  private var isInDoubtCheckScheduled = false

  private static let firstInDoubtCheckDelay: Int64 = 1_000
  private static let longestInDoubtCheckDelay: Int64 = 60_000

  init(
    _ setup: DatabaseConfiguration, _ authority: (any LocalAuthority)?,
    _ steps: StepQueue<EngineLoop>, _ registrations: Registrations,
    _ authState: StateSource<AuthState>, _ isConnected: StateSource<Bool>, _ clock: ServerClock
  ) {
    let logger = setup.logger
    let post: @Sendable (Step) -> Void = { [weak steps] in steps?.post($0) }
    let storage = EngineStorage(logger, authority: authority)
    outbox = Outbox(storage, setup.callbackQueue)
    usage = UsageWatch(storage, outbox, postLook: { post(.run { _ in }) })
    let durability = DurabilityWaits { [weak steps] backend in steps?.harden(backend) }
    connection = Connection(setup, post)
    let progress = WriteProgress()
    let views = Views(registrations, storage, progress, clock, outbox, post)
    let listens = ServerListens(storage, views, connection, outbox, logger)
    let cache = CacheUpdater(storage, views, listens, outbox)
    listening = Listening(
      storage, views, listens, InfoViews(isConnected, clock), logger)
    pins = PinnedQueries(storage, listening, outbox, logger, post)
    transactions = Transactions(storage, views, listening, connection, clock, outbox, post)
    updates = ServerUpdates(
      views: views, listens: listens, listening: listening, pins: pins, transactions: transactions,
      outbox: outbox, logger: logger)
    gets = Gets(setup, storage, views, cache, listening, connection, outbox, post)
    let writes = Writes(
      durability: durability, setup: setup, storage: storage, views: views, progress: progress,
      cache: cache, gets: gets, transactions: transactions, connection: connection, outbox: outbox,
      post: post)
    sending = WriteSending(
      writes: writes, setup: setup, storage: storage, progress: progress, durability: durability,
      connection: connection, outbox: outbox, post: post)
    mail = MailTaker(setup, storage, writes, outbox, post)
    mailRemoval = MailRemoval(setup: setup, storage: storage, outbox: outbox)
    disconnects = Disconnects(storage, connection, outbox)
    clearing = CacheClearing(
      storage: storage, views: views, listens: listens, cache: cache, outbox: outbox)
    user = SignedInUser(
      setup, storage, views, transactions, pins, connection, outbox, authState, post)
    requests = QueueRequests(
      setup: setup, storage: storage, views: views, writes: writes, user: user,
      transactions: transactions, connection: connection, outbox: outbox)
    appTokens = AppTokens(setup.appCheckProvider, connection, post)
    lifetime = EngineLifetime(
      storage: storage, setup: setup, views: views,
      connection: connection, user: user, listening: listening, writes: writes, gets: gets,
      transactions: transactions, disconnects: disconnects)
    handOver = HandOver(
      drains, setup.clock, setup.logger, left: { [requests] in requests.left() },
      endedCount: { progress.endedCount },
      postLook: { number, ended in post(.run { $0.handOver.look(number, endedBefore: ended) }) })
    scheduleInDoubtCheck = { [clock = setup.clock] delay in
      // Each step begins with a look.
      clock.wake(at: clock.now + delay) { post(.run { $0.isInDoubtCheckScheduled = false }) }
    }
  }

  var writes: Writes { sending.writes }
  var durability: DurabilityWaits { writes.durability }

  // MARK: Steps

  /// Does steps, and after each the steps that waited until it was known who is signed in.
  nonisolated(nonsending) func perform(_ steps: [Step]) async {
    if steps.contains(where: \.usesStorage) { lifetime.storage.housekeeping?.used() }
    isPerforming = true
    await performAll(steps)
    isPerforming = false
  }

  private nonisolated(nonsending) func performAll(_ steps: [Step]) async {
    for step in steps {
      await performOne(step)
      for step in user.takeReady() { await performOne(step) }
    }
  }

  /// Does one step.
  private nonisolated(nonsending) func performOne(_ step: Step) async {
    if step.awaitsStorage, suspension.holdBack(step) { return }
    if user.holdBack(step) { return }
    switch step {
    case .write(let write, let caller):
      if outbox.hasUncommitted || connection.hasActions { drain() }
      writes.add(write, caller)
      if writes.unqueued.isFull { drain() }
      return
    case .receiptReleased(let id): return writes.progress.released(id)
    case .transportEvent(let number, let event):
      if !writes.unqueued.isEmpty { drain() }
      connection.receive(event, number)
      carryOutActions()
      if outbox.isFull || outbox.holdsActions || connection.hasActions { drain() }
      return
    default: drain()
    }
    switch step {
    case .write, .receiptReleased, .transportEvent: break
    case .open(let isAway): await lifetime.open(isAway: isAway)
    case .observe(let registration): listening.observe(registration)
    case .stopObserving(let id): listening.stop(id)
    case .stopObservingAll(let target): listening.stopAll(target)
    case .pin(let target, let isPinned): pins.set(target, isPinned: isPinned)
    case .listenToPin(let target): pins.listenToWaiting(target)
    case .get(let request): gets.begin(request)
    case .endLateGets: for request in user.takeLateGets() { gets.giveUp(request) }
    case .endLateGet(let id): gets.late(id)
    case .transact(let request): transactions.begin(request)
    case .transactionRan(let id, let decision): transactions.ran(id, decision)
    case .onDisconnect(let request, let completion): disconnects.issue(request, completion)
    case .tellConnection(let input): connection.tell(input)
    case .writesMarked(let ids, let fault): sending.marked(ids, fault)
    case .purge: purge()
    case .refreshToken: user.refreshToken()
    case .tokenAnswered(let answer, let number): user.answered(answer, number)
    case .appTokenAnswered(let answer, let number): appTokens.answered(answer, number)
    case .run(let body): body(self)
    case .useQueue(_, let body):
      // So that the store shows the queue as it is.
      writes.storeEarlierEnds()
      body(self)
    case .handOver(let done):
      if suspension.isSuspended || lifetime.storage.hasEnded { return done() }
      if handOver.begin(done) { connection.tell(.reasonEnded(.offline)) }
    case .takeMail(let taking): await takeMail(taking)
    case .suspend(let done): done(await suspend())
    case .resume(let done): await resume(done)
    case .close(let done): await close(done)
    }
    drain()
  }

  /// The app goes offline, unless somebody waits for the authority in this process, who goes offline after that.
  func goOffline() {
    if !handOver.isUnderWay { connection.tell(.reasonBegan(.offline)) }
  }

  /// Takes the writes that other processes have left.
  private nonisolated(nonsending) func takeMail(_ taking: MailTaking) async {
    // Whose mail counts is known later, and then this is asked for again.
    if taking.done == nil, !user.isKnown || lifetime.storage.backend == nil { return }
    await mail.take(taking, drain)
  }

  // MARK: Suspension

  /// Disconnects, makes all that was accepted durable, and lets go of the storage; gives why not.
  private nonisolated(nonsending) func suspend() async -> DatabaseError? {
    let storage = lifetime.storage
    if suspension.isSuspended {
      do throws(DatabaseError) { try await storage.releaseAgain() } catch { return error }
      return nil
    }
    drains.endAll(requests.left)
    // What is under way is of unknown outcome from now on.
    connection.tell(.reasonBegan(.suspended))
    drain()
    sending.storeUnsent()
    drain()
    await durability.finish()
    do throws(DatabaseError) {
      try await storage.suspend()
    } catch {
      if storage.isReleased {
        suspension.begin()
      } else {
        connection.tell(.reasonEnded(.suspended))
      }
      return error
    }
    suspension.begin()
    return nil
  }

  /// Goes on with the storage, and with all that was asked for meanwhile.
  private nonisolated(nonsending) func resume(
    _ done: @Sendable (DatabaseError?) -> Void
  ) async {
    guard suspension.isSuspended else {
      return done(lifetime.storage.hasEnded ? lifetime.storage.error : nil)
    }
    do throws(DatabaseError) {
      try await lifetime.storage.resume(lifetime.storeChanged)
      let waiting = suspension.end()
      connection.tell(.reasonEnded(.suspended))
      drain()
      done(nil)
      await performAll(waiting)
    } catch {
      done(error)
    }
  }

  /// Gives up all waiting and refused writes, transactions and onDisconnects of the user.
  private func purge() {
    // What the server has answered is not purged, though the answers wait for listens.
    connection.tell(.deliverAnswers)
    drain()
    requests.purge(with: mailRemoval)
  }

  /// Ends all work, makes it durable and closes the storage.
  private nonisolated(nonsending) func close(_ done: @Sendable () -> Void) async {
    drains.endAll(requests.left)
    if !suspension.isSuspended {
      // What is under way is of unknown outcome from now on.
      connection.tell(.reasonBegan(.closing))
      drain()
      sending.storeUnsent()
      drain()
    }
    let waiting = suspension.end()
    usage.end()
    appTokens.close()
    if let backend = lifetime.end() { await lifetime.storage.closeBackend(backend) }
    for step in user.takeReady() { await performOne(step) }
    await performAll(waiting)
    drain()
    done()
  }

  // MARK: What the parts ask for

  /// Queues and commits what waits, does what the connection asks for, and tells the app, until
  /// nothing is left.
  func drain() {
    if suspension.isSuspended { return outbox.callApp() }
    repeat {
      if !writes.unqueued.isEmpty {
        writes.queueAll()
        commitEdits()
      }
      // A second commit ends the writes that the new ones superseded, before any new one is sent.
      commitEdits()
      carryOutActions()
    } while !writes.unqueued.isEmpty || outbox.hasUncommitted || connection.hasActions
    connection.grantCredit()
    if !isPerforming, !user.isIdentifying, !outbox.hasInDoubtCommits { drains.look(requests.left) }
    if !isPerforming { usage.look(requests.left) }
    outbox.callApp()
    scheduleNextInDoubtCheck()
  }

  /// Schedules a check, after growing delays, of whether commits that were reported as failed were
  /// made.
  private func scheduleNextInDoubtCheck() {
    guard outbox.hasInDoubtCommits else { return inDoubtCheckDelay = Self.firstInDoubtCheckDelay }
    guard !isInDoubtCheckScheduled else { return }
    isInDoubtCheckScheduled = true
    scheduleInDoubtCheck(inDoubtCheckDelay)
    inDoubtCheckDelay = min(inDoubtCheckDelay * 3 / 2, Self.longestInDoubtCheckDelay)
  }

  /// Stores what waits for a commit.
  private func commitEdits() {
    // Commits that stay in doubt are checked again later.
    try? outbox.resolveInDoubtCommits()
    outbox.commit(after: writes.storeEarlierEnds, willStore: writes.willStore)
  }

  /// Does what the connection's machine asks for, up to an action that must wait until what is asked for
  /// so far is committed.
  private func carryOutActions() {
    while connection.hasActions {
      let actions = connection.takeActions()
      for (index, action) in actions.enumerated() {
        if outbox.holdsActions || !action.canPrecedeCommit,
          outbox.hasUncommitted || !writes.unqueued.isEmpty
        {
          return connection.putBack(actions[index...])
        }
        carryOut(action)
      }
    }
  }

  private func carryOut(_ action: ConnectionAction) {
    switch action {
    case .connect(let request, let number): connection.connect(request, number)
    case .disconnect(let number): connection.disconnect(number)
    case .probe(let number): connection.probe(number)
    case .send(let message): connection.send(message)
    case .sendListen(let number, let listen): updates.listens.send(listen, as: number)
    case .fetchToken(let force, let number): user.fetchToken(force: force, number)
    case .fetchAppToken(let force, let number): appTokens.fetch(force: force, number)
    case .wake(let moment): connection.wake(at: moment)
    case .connected(let isConnected):
      listening.connected(isConnected)
      if isConnected { pins.connected() }
    case .offset(let milliseconds): listening.offset(milliseconds)
    case .writable(let isWritable): transactions.writable(isWritable)
    case .shutDown(let reason): connection.logShutDown(reason)
    case .log(let words): connection.log(words)
    case .identification(let identification): user.changed(identification)
    case .authentication(let state): user.report(state)
    case .laneChanged(let lane): user.changeLane(lane)
    case .keepToken(let token): user.storeToken(token)
    case .listenAnswered(let listen, let response): updates.listenAnswered(listen, response)
    case .listenRevoked(let listen): updates.listenRevoked(listen)
    case .updated(let update): updates.take(update)
    case .needWrites(let lane, let after, let limit):
      sending.readQueue(lane, after: after, limit: limit)
    case .markSent(let ids): sending.mark(ids)
    case .writeSent(let id): writes.progress.sent(id)
    case .writeAnswered(let id, let response, let isDataMissing):
      writes.answered(id, response, isDataMissing: isDataMissing)
    case .writeOutcomeUnknown(let id): sending.outcomeUnknown(id)
    case .writeReturned(let id): sending.returned(id)
    case .getAnswered(let id, let response): gets.answered(id, response)
    case .getUnavailable(let id): gets.unavailable(id)
    case .putAnswered(let id, let response, let isDataMissing):
      transactions.putAnswered(id, response, isDataMissing: isDataMissing)
    case .putGivenUp(let id, let status): transactions.putGivenUp(id, status)
    case .putReturned(let id): transactions.putReturned(id)
    case .onDisconnectAnswered(let id, let response): disconnects.answered(id, response)
    case .onDisconnectGivenUp(let id, let status): disconnects.givenUp(id, status)
    }
  }
}

extension ConnectionAction {
  /// Whether it may be carried out while other edits wait for their commit: what it reads of the store may lack the
  /// edits that wait, and allows for that, and its events are told after the commit.
  fileprivate var canPrecedeCommit: Bool {
    switch self {
    case .updated, .writeAnswered, .send, .sendListen, .writeSent, .probe, .wake, .log: true
    case .listenAnswered(_, let response): response.status == .ok
    default: false
    }
  }
}
