package import ConiferEngine
public import ConiferStorage
public import ConiferWire
public import Logging

/// The settings that a ``Firestore`` database is made with, such as its project, storage and
/// transport.
///
/// ```swift
/// var configuration = FirestoreConfiguration(projectID: "my-app", storage: .sqlite(at: directory))
/// configuration.transport = server.transport(to: DatabaseID(project: "my-app"))
/// Firestore.configure(configuration)
/// ```
public struct FirestoreConfiguration: Sendable {
  /// Which database of the server it is.
  private struct Address: Sendable {
    var projectID: String
    var databaseID: String
    var host: String?
    var isSecure = true
  }

  /// What is kept of the server's documents, and where.
  package enum Cache: Sendable, Hashable {
    /// In the storage; about so many bytes, nil for no limit.
    case persistent(bytes: Int?)
    /// In memory; about so many bytes, nil for no limit.
    case memory(bytes: Int?)
    /// In memory, only as long as a listener or a waiting write needs it.
    case memoryWhileUsed
  }

  private var address: Address
  /// Where data is kept, such as `.sqlite(at: directory)`; nil for memory.
  ///
  /// Two databases that are open at once have each a directory of their own.
  public var storage: StorageConfiguration?
  /// What is kept of the server's documents; settings of the Apple SDK change it.
  package var cache: Cache
  /// Durability of local writes, compression and encryption; at first those of ``storage``. Its
  /// budget is not used: ``cacheSizeBytes`` sets the limit.
  public var options: StorageOptions
  /// Whether the database keeps its storage tidy by itself, while nothing else is asked of it.
  public var housekeeping = Housekeeping.automatic
  /// The way to the server; nil to stay offline.
  public var transport: DocumentTransport?
  /// Where tokens come from; nil to be nobody.
  public var tokenProvider: (any TokenProvider)?
  /// Where the app's own code runs.
  public var callbackQueue = CallbackQueue.standard
  /// The log for problems that no caller is told. Tokens and data are never logged.
  public var logger = Logger(label: "conifer.firestore")
  /// The clock for the time of day, timeouts and retries.
  public var clock: any EngineClock = SystemClock()
  /// Where random numbers come from: those of back-off and of documents' ids.
  public var random: @Sendable () -> UInt64 = {
    var system = SystemRandomNumberGenerator()
    return system.next()
  }

  /// How many documents in limbo the server is asked for at once.
  package var limboLimit = 100
  /// Makes the authority of a database without a server, which keeps the documents in ``storage`` and is the way to
  /// itself; nil for a client of a server.
  package var localAuthority:
    (@Sendable (FirestoreConfiguration) -> any LocalAuthority & DocumentService)?

  /// A configuration.
  ///
  /// - Parameters:
  ///   - projectID: the project's id on the server; not empty.
  ///   - databaseID: the database's id within the project; not empty.
  ///   - storage: where data is kept; nil for memory.
  ///   - transport: the way to the server; nil to stay offline.
  public init(
    projectID: String, databaseID: String = "(default)", storage: StorageConfiguration? = nil,
    transport: DocumentTransport? = nil
  ) {
    address = Address(projectID: projectID, databaseID: databaseID)
    self.storage = storage
    cache = .persistent(bytes: StorageOptions.standardDocumentBudget)
    options = storage?.options ?? StorageOptions()
    self.transport = transport
  }
}

extension FirestoreConfiguration {
  /// The project's id on the server.
  public var projectID: String {
    get { address.projectID }
    set { address.projectID = newValue }
  }

  /// The database's id within the project, `(default)` unless it is set.
  public var databaseID: String {
    get { address.databaseID }
    set { address.databaseID = newValue }
  }

  /// The host that the app's settings name; nil for the transport's own.
  package var host: String? {
    get { address.host }
    set { address.host = newValue }
  }

  /// Whether connections to ``host`` are encrypted.
  package var isSecure: Bool {
    get { address.isSecure }
    set { address.isSecure = newValue }
  }

  /// About how many bytes of documents are kept: 100 MiB unless set, 1 MiB at least, nil for no limit.
  ///
  /// What is pinned, listened to or written and not yet answered may exceed it.
  public var cacheSizeBytes: Int? {
    get {
      switch cache {
      case .persistent(let bytes), .memory(let bytes): bytes
      case .memoryWhileUsed: nil
      }
    }
    set {
      switch cache {
      case .persistent: cache = .persistent(bytes: newValue)
      case .memory, .memoryWhileUsed: cache = .memory(bytes: newValue)
      }
    }
  }

  /// Whether data and writes that wait are kept in ``storage`` rather than in memory.
  public var isPersistenceEnabled: Bool {
    get {
      if case .persistent = cache { return storage != nil }
      return false
    }
    set {
      cache = newValue ? .persistent(bytes: cacheSizeBytes) : .memory(bytes: cacheSizeBytes)
    }
  }
}

extension FirestoreConfiguration {
  /// The limit that holds where none is set.
  static let standardCacheSize = Int64(StorageOptions.standardDocumentBudget)

  /// The limit that a number of the settings means; nil for none.
  static func limit(_ bytes: Int64) -> Int? {
    bytes == FirestoreCacheSizeUnlimited ? nil : Int(clamping: bytes)
  }

  /// The storage that is opened: with the options and the budget, and in memory when persistence is off or an authority
  /// in this process keeps the documents.
  package var effectiveStorage: StorageConfiguration {
    var options = options
    options.budget = cacheSizeBytes
    return localAuthority == nil ? keptStorage(options) : .memory(options.besideAuthority)
  }

  /// The storage of an authority in this process: in memory when persistence is off.
  package var authorityStorage: StorageConfiguration { keptStorage(options.ofAuthority) }

  private func keptStorage(_ options: StorageOptions) -> StorageConfiguration {
    // A storage that is in memory anyway can be used when nothing is to be kept.
    guard let storage, isPersistenceEnabled || storage.name == "memory" else {
      // The configured durability applies to the storage that is not opened; memory has only its
      // own.
      var options = options
      options.durability = .strongest
      return .memory(options)
    }
    return storage.with(options)
  }

  /// The way to the server that is used: to the host of the settings, where these name one.
  package var effectiveTransport: DocumentTransport? {
    guard let host else { return transport }
    return transport?.leading(to: host, isSecure: isSecure)
  }

  /// The first error in the configuration; nil when it is valid.
  package var fault: FirestoreError? {
    if projectID.isEmpty || databaseID.isEmpty || (projectID + databaseID).utf8.contains(0x2F) {
      return FirestoreError(
        .invalidArgument,
        "A project's and a database's id are not empty and have no slash. Name both.")
    }
    let smallest = StorageOptions.smallestBudget
    if let bytes = cacheSizeBytes, bytes < smallest {
      return FirestoreError(
        .invalidArgument,
        "A cache of \(bytes) bytes is too small. Give \(smallest) bytes at least, or no limit.")
    }
    return nil
  }

  /// Checks that the configuration is valid.
  ///
  /// - Throws: `invalidArgument` for the first setting that is not valid.
  public func validate() throws(FirestoreError) {
    var copy = self
    if let fault = fault ?? copy.leaveOutServer().first { throw fault }
  }

  /// Leaves out what a database without a server cannot have; gives the mistakes.
  mutating func leaveOutServer() -> [FirestoreError] {
    guard localAuthority != nil else { return [] }
    var mistakes: [FirestoreError] = []
    if transport != nil || host != nil {
      (transport, host) = (nil, nil)
      mistakes.append(
        FirestoreError(
          .invalidArgument,
          "The database has a transport or a host, and is configured to have no server. Configure it with them "
            + "and without .local; copy(to:) brings documents to a server."))
    }
    if tokenProvider != nil {
      tokenProvider = nil
      mistakes.append(
        FirestoreError(
          .invalidArgument,
          "The database has a token provider, and is configured to have no server that reads tokens. Leave the "
            + "provider out; give each user a database by a name, such as .local(user)."))
    }
    return mistakes
  }
}
