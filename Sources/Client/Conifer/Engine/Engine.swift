import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire
import Logging
import Synchronization

/// The engine behind a database: storage, views, connection and callbacks, joined on one thread.
///
/// Whatever is asked of it, and whatever the server says, is a step; steps are done one after the
/// other, so that no step sees half of another's effects while that waits for its commit.
actor Engine {
  nonisolated let setup: DatabaseConfiguration
  nonisolated let thread = EngineThread()
  nonisolated let inbox = Inbox<Step>()
  nonisolated let registrations = Registrations()
  /// Who the client is; changes with tokens.
  nonisolated let authState = StateSource(AuthState.signedOut)
  /// Whether there is a connection on which the server has said hello.
  nonisolated let isConnected = StateSource(false)
  /// What the server's time is ahead of the device's, in milliseconds.
  nonisolated let offset = Atomic<Int64>(0)
  /// Whether the app went offline, maybe before the storage was open.
  nonisolated let isAway = Atomic(false)
  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  /// Whether storage is open, or why not.
  var phase = Phase.opening
  /// The views of the server's data; without a cache until storage is open.
  var tree = SyncTree(cache: nil)
  /// The views of `.info`.
  var info = InfoViews()
  /// Where views of the server's data are open.
  var views = ViewPaths()
  /// What listeners of the server's data listen to, silent ones too.
  var listeners: [ListenerID: QueryTarget] = [:]
  /// Those of them that raise nothing.
  var silent: Set<ListenerID> = []
  /// The last number given to a silent listener; the API's begin at 1.
  var lastSilent = firstSilent
  static let firstSilent: UInt64 = 1 << 63

  /// Edits that wait for the next commit.
  var units: [CommitUnit] = []
  /// Whether the next commit ends with these, as what follows must see them stored.
  var endsCommit = false
  /// Records of complete data among them, which a read does not find yet.
  var newRecords: [TrackedQuery] = []
  /// The app's writes, until the store holds how they ended.
  var writes = OutboundWrites()
  /// Whose is what the app asks for.
  var identity = IdentityGate<Step>()
  var hardening = Hardening()
  /// What the app is to be told after this step.
  var outbox: [@Sendable () -> Void] = []

  /// Listens that the server was asked for.
  var active: [QueryTarget: ActiveQuery] = [:]
  var tags: [Int: QueryTarget] = [:]
  /// The silent listeners of what is pinned.
  var pins: [QueryTarget: ListenerID] = [:]
  /// What was pinned, and is listened to as soon as there is a connection.
  var waitingPins: Set<QueryTarget> = []
  /// Whether the pins of earlier runs were read.
  var arePinsRead = false
  /// What is pinned, and the server did not let this user listen to.
  var refusedPins: Set<QueryTarget> = []
  var gets = Gets()
  var openIncrements = OpenIncrements()
  /// What increments behind the newest write count from; nil when the queue is to be read.
  var queuedValues: QueuedValues?
  var transactions = Transactions()
  var disconnects = Disconnects()
  var incidentsSeen = 0
  var link = Link()

  /// An engine that opens its storage at once, on its own thread.
  init(_ configuration: DatabaseConfiguration) {
    setup = configuration
    post(.open)
  }

  deinit {
    link.connection?.close()
    link.watch?.stop()
  }
}

extension Engine {
  /// Whether the engine has its storage.
  enum Phase {
    case opening
    case open(any StorageBackend, Lane)
    case failed(DatabaseError)
    case closed
  }

  /// A listen that the server was asked for.
  struct ActiveQuery {
    /// How far the store knows a listen's query.
    enum Record {
      /// There is no store.
      case none
      /// Not yet, or it could not be stored. A plain one is stored with its first data, so that a listen
      /// costs no commit of its own.
      case new(TrackedQuery)
      /// With the next commit, which gives it its number.
      case numbering(TrackedQuery)
      /// It is stored.
      case stored(StoredQuery)
    }

    let listen: Listen
    var record = Record.none
    /// Whether all its data was stored since it began.
    var isWhole = false
    /// Whether storage lacks some of what the view shows, as a commit failed.
    var isBehind = false
    /// The hash of its data when the server was last asked, so that it is not reckoned again.
    var hash: ListenHash?

    /// What is stored of it; nil when nothing is.
    var stored: StoredQuery? {
      if case .stored(let stored) = record { stored } else { nil }
    }

    /// Whether all its data is stored, or about to be.
    var isComplete: Bool {
      switch record {
      case .none: false
      case .new(let query), .numbering(let query): query.isComplete
      case .stored(let stored): stored.query.isComplete
      }
    }
  }

  /// The lane whose queue lies over the views; nil without storage.
  var lane: Lane? {
    guard case .open(_, let lane) = phase else { return nil }
    return lane
  }

  /// The storage; nil when it is not open.
  var backend: (any StorageBackend)? {
    guard case .open(let backend, _) = phase else { return nil }
    return backend
  }

  /// Why there is no storage.
  var phaseError: DatabaseError {
    switch phase {
    case .failed(let error): error
    default: DatabaseError(.closed, "The database was closed.")
    }
  }

  /// The server's time in milliseconds since 1970, as far as it is known.
  nonisolated var serverTime: Int64 {
    setup.clock.wallTime &+ offset.load(ordering: .relaxed)
  }

  /// A number for a listener of the engine's own.
  func silentID() -> ListenerID {
    lastSilent += 1
    return ListenerID(rawValue: lastSilent)
  }

  /// Reads storage; nil when it is not open or cannot be read, which is logged.
  func read<R>(_ body: (any StorageView, Lane) throws(StoreError) -> R) -> R? {
    guard let backend, let lane else { return nil }
    do throws(StoreError) {
      return try backend.read { (view) throws(StoreError) in try body(view, lane) }
    } catch {
      setup.logger.error("storage could not be read", metadata: ["cause": "\(error)"])
      return nil
    }
  }
}
