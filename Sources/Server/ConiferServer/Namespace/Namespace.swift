import ConiferQuery
import ConiferStorage
import ConiferTree
import ConiferWire

/// One database of the server: the data, the sessions and their listens. It is a state machine
/// without effects: it takes inputs and returns outputs to carry out.
///
/// While a commit is in progress all inputs wait in a queue, so that everybody sees writes in one
/// order and none before it is stored. Writes that wait behind one another share the next commit.
struct Namespace: Sendable {
  /// The data.
  var root: Node
  var rules: any AccessRules
  /// The indexes that are declared beside the rules; nil when indexes are not required.
  var indexes: [IndexDefinition]?
  let authenticator: any Authenticator
  let limits: ServerLimits
  /// The memory of the onDisconnect operations of all the server's sessions.
  let disconnects: MemoryBudget
  /// Whether writes must be committed before they are applied.
  let isStored: Bool
  /// Whether onDisconnect operations must be, too.
  let storesDisconnects: Bool

  var sessions: [SessionID: Session] = [:]
  /// The live sessions by their names.
  var names: [String: SessionID] = [:]
  var listens: [ListenID: Listen] = [:]
  var places = ListenTrie()
  var lastListen: UInt64 = 0
  /// The rules file that the store has; nil for none.
  var storedRules: [UInt8]?
  /// Sessions that have ended and whose operations the store refused for now.
  var postponed: [EndedSession] = []
  /// Those of them whose ends wait again.
  var repeated: [SessionID: Session] = [:]
  /// Sessions whose ends are stored one by one, since their common commit failed.
  var endsAlone: Set<SessionID> = []
  /// Whether rules or indexes were set for this database after it was prepared.
  private var hasOwnSettings = false
  /// The traffic so far.
  var traffic = TrafficCounts()

  /// What is being committed.
  var inFlight: Commit?
  /// Writes whose common commit failed: each is tried alone, before all that waits.
  var alone = FIFO<PendingWrite>()
  /// Where the store may have other data than `root`, after commits that failed and may be there all the same.
  var doubtful: Set<Path> = []
  /// The records that the store is to have after such commits, by their names; nil for none.
  var doubtfulRecords: [String: [UInt8]?] = [:]
  var waiting = FIFO<Input>()
  var outputs: [Output] = []

  init(
    root: Node = .empty, isStored: Bool = false, storesDisconnects: Bool = true,
    rules: any AccessRules = OpenRules(),
    authenticator: any Authenticator = OpenAuthenticator(), limits: ServerLimits = ServerLimits(),
    disconnects: MemoryBudget? = nil
  ) {
    self.root = root
    self.isStored = isStored
    self.storesDisconnects = isStored && storesDisconnects
    self.rules = rules
    self.authenticator = authenticator
    self.limits = limits
    self.disconnects = disconnects ?? MemoryBudget(limits.disconnects)
  }

  /// Handles an input.
  ///
  /// - Parameters:
  ///   - input: the event.
  ///   - now: the server's time in milliseconds since 1970.
  /// - Returns: the outputs to carry out, in this order.
  mutating func handle(_ input: Input, now: Int64) -> [Output] {
    if case .committed(let failure) = input {
      if let commit = inFlight.take() { finish(commit, failure, now: now) }
    } else if case .connect(let id, let name, let host, let last?) = input {
      // The old connection is gone, even if its end was not noticed: its onDisconnect operations
      // run before the client continues.
      if let old = names[last] {
        outputs.append(.close(old, "The client has connected again."))
        waiting.append(.end(old))
      }
      waiting.append(.connect(id, name: name, host: host, lastSession: nil))
    } else {
      waiting.append(input)
    }
    while inFlight == nil {
      if let write = alone.popFirst() {
        self.write(write, now: now)
      } else if !writeGroup(now: now), !registerGroup(now: now), !endGroup(now: now) {
        guard let next = waiting.popFirst() else { break }
        perform(next, now: now)
      }
    }
    defer { outputs = [] }
    return outputs
  }

  /// Whether nothing waits for a commit.
  var isSettled: Bool { inFlight == nil && waiting.isEmpty && alone.isEmpty }

  /// Whether nobody uses the database and dropping it would lose nothing but counts.
  var isUnused: Bool { sessions.isEmpty && root.isEmpty && isSettled && !hasOwnSettings }

  private mutating func perform(_ input: Input, now: Int64) {
    switch input {
    case .connect(let id, let name, let host, _):
      sessions[id] = Session(name: name, since: now)
      names[name] = id
      send(id, .hello(Hello(timestamp: now, host: host, session: name)))
    case .message(let id, .request(let number, let request)):
      guard sessions[id] != nil else { return }
      traffic.count(request)
      expire([id], now: now)
      perform(request, number, of: id, now: now)
    case .message(_, .keepAlive): break
    case .message(let id, .ping): if sessions[id] != nil { send(id, .pong) }
    case .message(let id, .unknown(let number, let action)):
      guard sessions[id] != nil else { return }
      outputs.append(.note("A client sent an unknown request: \(action)"))
      guard let number else { return }
      send(id, .response(number, Response(.failure, reason: "The server has no such request.")))
    case .message(let id, .invalid(let number, let reason)):
      if sessions[id] != nil { send(id, .response(number, Response(.failure, reason: reason))) }
    case .message(let id, .tooLarge(let number, let reason)):
      if sessions[id] != nil { send(id, .response(number, Response(.tooBig, reason: reason))) }
    case .end(let id):
      end([id], now: now)
      outputs.append(.ended(id))
    case .evict(let reason):
      // One by one, as each session's end may need a commit of its own.
      for id in sessions.keys.sorted() {
        outputs.append(.close(id, reason))
        waiting.append(.end(id))
      }
    case .expireTokens(let ids):
      let ids = ids ?? sessions.keys.sorted()
      for id in ids {
        sessions[id]?.lapsed = nil
        if sessions[id]?.auth != nil { revokeToken(of: id, now: now) }
      }
      storeUsers(of: ids)
    case .call(let number, let changes):
      traffic.count(.merge(.root, changes))
      write(PendingWrite(changes, .call(number)), now: now)
    case .perform(let number, let request, let token, let limit):
      traffic.count(request)
      perform(request, number, as: token, limit: limit, now: now)
    case .adopt(let id, let token):
      adopt(token, of: id, now: now)
      storeUsers(of: [id])
    case .setRules(let new, let isCommon): setRules(new, isCommon: isCommon, now: now)
    case .storeRules(let number, let new): storeRules(new, number, now: now)
    case .restore(let rules, let left):
      storedRules = rules
      for (id, session) in left { restore(id, session, now: now) }
    case .setIndexes(let new):
      indexes = new
      hasOwnSettings = true
    case .prepared: hasOwnSettings = false
    case .committed: break
    case .tick:
      expire(sessions.filter { $0.value.isExpired(now) }.keys.sorted(), now: now)
      let next = sessions.values.compactMap { $0.auth?.expires }.min()
      if let next { outputs.append(.wake(next)) }
    }
  }

  private mutating func perform(
    _ request: Request, _ number: UInt64, of id: SessionID, now: Int64
  ) {
    switch request {
    case .listen(let target, let tag, let hash, let compound):
      let answer = listen(target, tag: tag, hash: hash, compound: compound, of: id, now: now)
      send(id, .response(number, answer))
    case .unlisten(let target, let tag):
      unlisten(target, tag: tag, of: id)
      send(id, .response(number, .ok))
    case .get(let target):
      let answer = get(target, of: id, now: now)
      send(id, .response(number, answer))
    case .put, .merge:
      if let write = PendingWrite(request, .request(id, number)) { self.write(write, now: now) }
    case .onDisconnectPut, .onDisconnectMerge, .onDisconnectCancel:
      register(request, number, of: id, now: now)
    case .authenticate(let credential):
      let answer = authenticate(credential, of: id, now: now)
      storeUsers(of: [id], then: (id, number, answer))
      recheckListens(of: id, now: now)
    case .unauthenticate:
      sessions[id]?.setUser(nil)
      storeUsers(of: [id], then: (id, number, .ok))
      recheckListens(of: id, now: now)
    case .appCheck, .stats: send(id, .response(number, .ok))
    }
  }

  mutating func setRules(_ new: any AccessRules, isCommon: Bool, now: Int64) {
    rules = new
    if !isCommon { hasOwnSettings = true }
    for id in sessions.keys.sorted() { recheckListens(of: id, now: now) }
  }

  mutating func send(_ id: SessionID, _ message: ServerMessage) {
    traffic.count(message)
    outputs.append(.send(id, message))
  }

  /// The context of a session for the rules.
  func context(of id: SessionID, now: Int64) -> AccessContext {
    AccessContext(auth: sessions[id]?.auth, root: root, now: now)
  }
}
