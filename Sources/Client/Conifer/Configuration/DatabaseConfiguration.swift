public import ConiferStorage
public import ConiferWire
public import Logging

/// The settings that a ``Database`` is made with, such as its namespace, storage and transport.
///
/// ```swift
/// var configuration = DatabaseConfiguration(namespace: "my-app", storage: .lmdb(at: directory))
/// configuration.options.budget = 50 << 20
/// let database = Database(configuration)
/// ```
public struct DatabaseConfiguration: Sendable {
  /// The database's name on its server, and where that is.
  private struct Address: Sendable {
    var namespace: String
    var host = "localhost"
    var isSecure = true
  }

  /// Where data is kept, and how.
  private struct Persistence: Sendable {
    var storage: StorageConfiguration?
    var standardStorage: (@Sendable (DatabaseConfiguration) -> StorageConfiguration)?
    var localAuthority: (@Sendable (DatabaseConfiguration) -> any LocalAuthority & Transport)?
    var isEnabled: Bool?
    var options: StorageOptions
    var indexes: [IndexDefinition] = []
  }

  private var address: Address
  private var persistence: Persistence
  /// The way to the server; nil to stay offline.
  public var transport: (any Transport)?
  /// Where tokens come from; nil to be nobody.
  public var tokenProvider: (any TokenProvider)?
  /// Where tokens of the app itself come from, such as those of Firebase's App Check; nil for none. They are shown to the
  /// server beside the user's.
  public var appCheckProvider: (any AppCheckProvider)?
  /// Whether the last token is kept in the store, so that an app that starts offline knows its user. Who is signed in is
  /// kept in any case, for a ``CompanionDatabase``.
  public var keepsLastToken = true
  /// What becomes of an increment whose outcome is unknown.
  public var unknownOutcome = UnknownOutcome.sendAgain
  /// Whether a write that was never sent is dropped from the queue when the next one is a set that
  /// replaces all of it: of a counter that is set a thousand times offline, the last value is sent.
  ///
  /// Off, every write is sent, as by the Realtime Database's SDKs. On, other clients and the server's
  /// rules do not see the values between, and a value that was replaced does not come back when the
  /// server refuses the one that replaced it. A write to another place, a transaction, a read or an
  /// onDisconnect operation in between keeps both; so does a set that deletes or increments. A write
  /// of a run before may have been sent by it, and stays.
  public var dropsSupersededWrites = false
  /// Whether the database keeps its storage tidy by itself, while nothing else is asked of it.
  public var housekeeping = Housekeeping.automatic
  /// Where the app's own code runs.
  public var callbackQueue = CallbackQueue.standard
  /// The log for problems that no caller is told. Tokens and data are never logged.
  public var logger = Logger(label: "conifer")
  /// The clock for the time of day, timeouts and retries.
  public var clock: any EngineClock = SystemClock()
  /// Where random numbers come from: those of back-off, push ids and idempotency ids.
  public var random: @Sendable () -> UInt64 = {
    var system = SystemRandomNumberGenerator()
    return system.next()
  }

  /// A configuration.
  ///
  /// - Parameters:
  ///   - namespace: the database's name on its server; 1 to 256 UTF-8 bytes.
  ///   - storage: where data is kept; nil for memory.
  ///   - transport: the way to the server; nil to stay offline.
  public init(
    namespace: String = "default", storage: StorageConfiguration? = nil,
    transport: (any Transport)? = nil
  ) {
    address = Address(namespace: namespace)
    persistence = Persistence(storage: storage, options: storage?.options ?? StorageOptions())
    self.transport = transport
  }

  /// A configuration for the database that a URL names.
  ///
  /// - Parameters:
  ///   - url: such as `https://my-app.example.com` or `http://localhost:9000?ns=my-app`.
  ///   - storage: where data is kept; nil for memory.
  ///   - transport: the way to the server; nil to stay offline.
  /// - Throws: `invalidURL`.
  public init(
    url: String, storage: StorageConfiguration? = nil, transport: (any Transport)? = nil
  ) throws(DatabaseError) {
    let url = try DatabaseURL(url)
    self.init(namespace: url.namespace, storage: storage, transport: transport)
    self.host = url.host
    self.isSecure = url.isSecure
  }
}

extension DatabaseConfiguration {
  /// The database's name on its server, and the name of its tree in the store.
  public var namespace: String {
    get { address.namespace }
    set { address.namespace = newValue }
  }

  /// The server's host, as URLs of references name it; `localhost` unless it is set.
  public var host: String {
    get { address.host }
    set { address.host = newValue }
  }

  /// Whether URLs of references begin with `https`; yes unless it is set.
  public var isSecure: Bool {
    get { address.isSecure }
    set { address.isSecure = newValue }
  }

  /// Where data is kept, such as `.lmdb(at: directory)`; nil for memory.
  ///
  /// Two databases that are open at once have each a directory of their own.
  public var storage: StorageConfiguration? {
    get { persistence.storage }
    set { persistence.storage = newValue }
  }

  /// The default storage of a database that the app gets from a class method, used when the
  /// configuration names no storage. It is called when the store is opened.
  var standardStorage: (@Sendable (DatabaseConfiguration) -> StorageConfiguration)? {
    get { persistence.standardStorage }
    set { persistence.standardStorage = newValue }
  }

  /// Makes the authority of a database without a server, which keeps the data in ``storage`` and is its own transport;
  /// nil for a client of a server.
  package var localAuthority: (@Sendable (DatabaseConfiguration) -> any LocalAuthority & Transport)?
  {
    get { persistence.localAuthority }
    set { persistence.localAuthority = newValue }
  }

  /// Whether data and queue are kept in ``storage``; otherwise they are in memory.
  ///
  /// nil is yes for `Database(configuration)`, and no for `Database.database()` until the app sets
  /// `isPersistenceEnabled`, as Firebase's guides have it.
  public var isPersistenceEnabled: Bool? {
    get { persistence.isEnabled }
    set { persistence.isEnabled = newValue }
  }

  /// Cache budget (10 MB unless set; from 1 MB up, nil for no limit), durability of local writes,
  /// compression and encryption; at first those of ``storage``.
  public var options: StorageOptions {
    get { persistence.options }
    set { persistence.options = newValue }
  }

  /// The indexes that queries are answered with from the cache.
  public var indexes: [IndexDefinition] {
    get { persistence.indexes }
    set { persistence.indexes = newValue }
  }
}

extension DatabaseConfiguration {
  /// Checks that the configuration is valid.
  ///
  /// - Throws: `invalidConfiguration` for the first setting that is not valid.
  public func validate() throws(DatabaseError) {
    if let fault { throw fault }
  }

  /// The storage that is opened: with the options, and in memory when persistence is off or an authority in this
  /// process keeps the data.
  var effectiveStorage: StorageConfiguration {
    guard localAuthority != nil else { return keptStorage(options) }
    return .memory(options.besideAuthority)
  }

  /// The storage of an authority in this process: the only copy of the data, without a budget, and in memory when
  /// persistence is off.
  package var authorityStorage: StorageConfiguration { keptStorage(options.ofAuthority) }

  private func keptStorage(_ options: StorageOptions) -> StorageConfiguration {
    guard isPersistenceEnabled ?? true, let storage = storage ?? standardStorage?(self) else {
      // The configured durability applies to the storage that is not opened; memory has only its
      // own.
      var options = options
      options.durability = .strongest
      return .memory(options)
    }
    return storage.with(options)
  }

  /// The first error in the configuration; nil when it is valid.
  var fault: DatabaseError? { mistakes.first?.error }

  /// A valid copy of the configuration, and the errors that were corrected in it.
  func repaired() -> (DatabaseConfiguration, [DatabaseError]) {
    var sound = self
    for mistake in mistakes { mistake.repair(&sound) }
    return (sound, mistakes.map(\.error))
  }

  private typealias Mistake = (
    error: DatabaseError, repair: (inout DatabaseConfiguration) -> Void
  )

  private var mistakes: [Mistake] {
    var mistakes: [Mistake] = []
    func add(
      _ message: String, _ remedy: String, _ repair: @escaping (inout DatabaseConfiguration) -> Void
    ) {
      mistakes.append((DatabaseError(.invalidConfiguration, message, remedy: remedy), repair))
    }
    if !(1...256).contains(namespace.utf8.count) || namespace.utf8.contains(0) {
      add(
        "The namespace \"\(namespace.prefix(80))\" is no name.",
        "Give one of 1 to 256 UTF-8 bytes."
      ) { $0.namespace = "default" }
    }
    let smallest = StorageOptions.smallestBudget
    if let budget = options.budget, budget < smallest {
      add(
        "A cache of \(budget) bytes is too small.",
        "Give at least \(smallest) bytes, or nil for no limit."
      ) { $0.options.budget = smallest }
    }
    // An engine has the authority itself as the transport.
    if localAuthority != nil, let transport, !(transport is any LocalAuthority) {
      add(
        "The database has a transport, and is configured to have no server.",
        "Configure it with the transport and without .local; copy(to:) brings data to a server."
      ) { $0.transport = nil }
    }
    if localAuthority != nil, tokenProvider != nil || appCheckProvider != nil {
      add(
        "The database has a token provider, and is configured to have no server that reads tokens.",
        "Leave the provider out; give each user a database by a name, such as .local(user)."
      ) { ($0.tokenProvider, $0.appCheckProvider) = (nil, nil) }
    }
    if isPersistenceEnabled == true, storage == nil, standardStorage == nil {
      add(
        "Persistence is on, and there is no storage.",
        "Import ConiferKit, or name one in the configuration, such as .lmdb(at: directory)."
      ) {
        $0.isPersistenceEnabled = false
      }
    }
    return mistakes
  }
}
