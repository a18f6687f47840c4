import ConiferDocument
import ConiferDocumentServer
import ConiferDocumentSync
import ConiferEngine
import ConiferStorage
import ConiferWire
import Dispatch
import Logging
import Synchronization
import TestSupport
import Testing

@testable import ConiferFirestore

/// A client of a program: an engine on a store, its link to the server, and what its app has asked for.
final class ProgramClient {
  let name: String
  let way: ProgramLink
  let signIn = EngineSignIn()
  let faults: DiskFaults
  private let configuration: FirestoreConfiguration
  private(set) var engine: FirestoreEngine
  private(set) var user = "ann"
  var isNetworkWanted = true
  private(set) var listeners: [HeardListener] = []
  /// Those that the app has removed.
  private(set) var removed: [HeardListener] = []
  /// The queries that are kept synced.
  private var kept: Set<DocumentQuery> = []
  private(set) var writes: [ProgramWrite] = []
  private var lastListener: ListenerID = 0
  /// Those that the app has removed, and the client may not have heard of that.
  private let leaving = Gathered<HeardListener>()
  /// How many answers the app waits for: of gets, and of waits for its writes.
  private(set) var open = OpenAnswers()
  let transactions = Transactions()
  /// How many changes of the queue are under way.
  let changes = OpenAnswers()
  /// The writes that the app tried to give up.
  let discarded = Gathered<WriteReceipt.ID>()
  /// What is wrong in what the app was told of its waits.
  let complaints = Gathered<String>()
  /// What the token provider does.
  private var provider = EngineSignIn.Answer.user(nil)
  /// Whether it has made writes since `takeHidesDocuments`, or had some that waited then.
  private var mayHideDocuments = false
  /// How often the engine began, or the app said that somebody signed in.
  let era = OpenAnswers()
  /// Whether the app wrote since then.
  private var hasWritten = false
  /// Whether the store may not hold that another user signed in.
  private var mayForgetUser = false

  /// - Parameters:
  ///   - storage: what keeps its data; in an empty place, or of an earlier client.
  ///   - way: to the server.
  ///   - durability: when its receipts are durable.
  ///   - death: ends all commits with one of them.
  init(
    _ name: String, _ storage: StorageConfiguration, _ way: ProgramLink, _ clock: any EngineClock,
    _ durability: DurabilityChoice, seed: UInt64, death: Death? = nil
  ) {
    self.name = name
    self.way = way
    faults = DiskFaults(seed: seed, death)
    let random = Mutex(Seeded(seed))
    var configuration = FirestoreConfiguration(
      projectID: ClientProgram.database.project, storage: storage.failing(faults),
      transport: way.transport)
    configuration.tokenProvider = signIn
    configuration.clock = clock
    configuration.housekeeping = .off
    configuration.random = { random.withLock { $0.next() } }
    configuration.callbackQueue = CallbackQueue(queue: .global()) { $0() }
    configuration.logger.logLevel = .critical
    configuration.options.durability = durability
    self.configuration = configuration
    signIn.set(.user(user))
    engine = FirestoreEngine(configuration)
  }

  /// Lets the engine do what it can do now.
  func waitUntilIdle() async {
    let left = leaving.take()
    defer { for heard in left { heard.end() } }
    guard signIn.isHanging else { return await engine.waitUntilIdle() }
    // It would wait for the answer.
    for _ in 0..<4 { _ = await engine.target(of: 0) }
  }

  /// The link to the server of now.
  var link: DocumentLink { way.now }

  // MARK: The app

  func listen(
    _ query: DocumentQuery, _ options: ListenOptions = ListenOptions(includesMetadataChanges: true)
  ) {
    lastListener += 1
    let heard = HeardListener(lastListener, query, options) { [faults, before = faults.failures] in
      faults.failures > before
    }
    listeners.append(heard)
    engine.listen(heard.id, query, options) { heard.hear($0) }
  }

  func unlisten(_ heard: HeardListener) {
    engine.unlisten(heard.id)
    listeners.removeAll { $0 === heard }
    leaving.add(heard)
    removed.append(heard)
  }

  func keepSynced(_ isKept: Bool, _ query: DocumentQuery) {
    engine.keepSynced(isKept, query)
    if isKept { kept.insert(query) } else { kept.remove(query) }
  }

  /// Keeps no query synced any more.
  func keepNothingSynced() { for query in kept { keepSynced(false, query) } }

  /// Listens again where a listener ended because the disk failed, as an app does.
  func listenAgain() {
    for heard in listeners where heard.now.error != nil {
      unlisten(heard)
      listen(heard.query, heard.options)
    }
  }

  func write(_ write: ProgramWrite, _ mutations: [Mutation]) {
    write.era = era.count
    (mayHideDocuments, hasWritten) = (true, true)
    writes.append(write)
    let receipt = engine.write(mutations) { write.ended($0) }
    write.receipt.withLock { $0 = receipt }
  }

  /// Whether writes that waited since this was last asked may hide documents of the server's: listeners are not told of
  /// waiting writes to documents that they do not show.
  func takeHidesDocuments() -> Bool {
    let isWaiting = writes.contains { $0.told.isEmpty }
    defer { mayHideDocuments = isWaiting }
    return mayHideDocuments || isWaiting
  }

  /// Asks for something whose answer must come, unless the client is ended before.
  func ask(_ body: (FirestoreEngine, @escaping @Sendable () -> Void) -> Void) {
    open.add(1)
    body(engine) { [open] in open.add(-1) }
  }

  /// Adds one to a counter, as of what the server has, and again when another one wrote meanwhile.
  func transact() { transactions.begin(engine) }

  func setNetwork(_ isWanted: Bool) {
    isNetworkWanted = isWanted
    engine.setNetwork(isWanted) { _ in }
  }

  /// Whether writes may wait until it is known who made them: who signs in then is taken for that.
  func hasWritesOfUnknown() async -> Bool {
    // It is held back like what waits for the ends of writes, and does nothing.
    let probe = DocumentStep.run(.endsOfWrites) { _ in }
    return hasWritten ? await engine.ask { $0.user.holdBack(probe) } : false
  }

  func become(_ user: String) {
    self.user = user
    era.add(1)
    hasWritten = false
    mayForgetUser = mayForgetUser || faults.isFailing
    if case .user = provider { signIn.set(.user(user)) }
    engine.tokenDidChange()
  }

  /// Has the token provider answer so from now on.
  func provide(_ answer: EngineSignIn.Answer) {
    provider = answer
    signIn.set(answer)
  }

  /// Has the token provider say again who is signed in; what it was asked before is answered late, or never.
  func healProvider(answersLate: Bool) {
    provide(.user(user))
    if answersLate { signIn.answerLate(.user(user)) }
  }

  /// Waits for the writes that wait: none may be told its end behind it.
  func waitForWrites() {
    let began = era.count
    // Those of before a change of user may be another one's.
    let waiting = writes.filter { $0.era == began && $0.told.isEmpty }
    open.add(1)
    engine.waitForPendingWrites { [name, open, complaints, era] error in
      open.add(-1)
      // It ends with an error when another user is signed in, or the queue cannot be read.
      guard error == nil, era.count == began else { return }
      for write in waiting where write.told.isEmpty {
        complaints.add("\(name) waited, and \(write.name) has not ended")
      }
    }
  }

  /// Gives up a write of the queue, or queues a refused one again; what the queue says then is not predicted.
  func changeQueue(_ draw: UInt64) {
    changes.add(1)
    Task { [engine, changes, discarded] in
      let writes = try? await engine.pendingWrites(after: nil, limit: .max, rejectedOnly: false)
      if let writes, !writes.isEmpty {
        let write = writes[Int(draw >> 1) % writes.count]
        if draw % 2 == 0 {
          discarded.add(write.id)
          try? await engine.discard(write.id)
        } else {
          try? await engine.retry(write.id)
        }
      }
      changes.add(-1)
    }
  }

  /// Ends the engine, and begins another one on the same store; the app listens again.
  func restart() async {
    // A store that cannot be opened is not what is tried here.
    faults.heal()
    await end()
    open = OpenAnswers()
    era.add(1)
    hasWritten = false
    engine = FirestoreEngine(configuration)
    // Otherwise who was signed in last counts as known.
    if mayForgetUser { engine.tokenDidChange() }
    mayForgetUser = false
    if !isNetworkWanted { engine.setNetwork(false) { _ in } }
    let before = listeners
    listeners = []
    for heard in before {
      heard.end()
      removed.append(heard)
      listen(heard.query, heard.options)
    }
  }

  func end() async {
    await withCheckedContinuation { (ended: CheckedContinuation<Void, Never>) in
      engine.terminate { _ in ended.resume() }
    }
    way.now.cut()
  }
}

/// How many answers an app waits for.
final class OpenAnswers: Sendable {
  private let open = Mutex(0)

  var count: Int { open.withLock { $0 } }

  func add(_ count: Int) { open.withLock { $0 += count } }
}
