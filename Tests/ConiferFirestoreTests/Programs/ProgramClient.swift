import ConiferDocument
import ConiferDocumentServer
import ConiferDocumentSync
import ConiferEngine
import ConiferFirestore
import ConiferStorage
import ConiferWire
import Dispatch
import Logging
import Synchronization
import TestSupport

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
  var listeners: [HeardListener] = []
  private(set) var writes: [ProgramWrite] = []
  private var lastListener: ListenerID = 0
  /// How many answers the app waits for: of gets, and of waits for its writes.
  private(set) var open = OpenAnswers()
  let transactions = Transactions()

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
    configuration.random = { random.withLock { $0.next() } }
    configuration.callbackQueue = CallbackQueue(queue: .global()) { $0() }
    configuration.logger.logLevel = .critical
    configuration.options.durability = durability
    self.configuration = configuration
    signIn.set(.user(user))
    engine = FirestoreEngine(configuration)
  }

  /// The link to the server of now.
  var link: DocumentLink { way.now }

  // MARK: The app

  func listen(_ query: DocumentQuery) {
    lastListener += 1
    let heard = HeardListener(lastListener, query)
    listeners.append(heard)
    engine.listen(heard.id, query, ListenOptions(includesMetadataChanges: true)) {
      heard.hear($0)
    }
  }

  func unlisten(_ heard: HeardListener) {
    engine.unlisten(heard.id)
    listeners.removeAll { $0 === heard }
  }

  func write(_ write: ProgramWrite, _ mutations: [Mutation]) {
    writes.append(write)
    let receipt = engine.write(mutations) { write.ended($0) }
    write.receipt.withLock { $0 = receipt }
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

  func become(_ user: String) {
    self.user = user
    signIn.set(.user(user))
    engine.tokenDidChange()
  }

  /// Ends the engine, and begins another one on the same store; the app listens again.
  func restart() async {
    // A store that cannot be opened is not what is tried here.
    faults.heal()
    await end()
    open = OpenAnswers()
    engine = FirestoreEngine(configuration)
    if !isNetworkWanted { engine.setNetwork(false) { _ in } }
    let queries = listeners.map(\.query)
    listeners = []
    for query in queries { listen(query) }
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
