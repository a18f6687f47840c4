public import ConiferQuery
public import ConiferTree

/// A database at one moment, as a developer looks at it: who is connected, and what passed.
///
/// It holds no data and no token.
public struct NamespaceReport: Sendable {
  /// The database's name.
  public var name: String
  /// The server's time in milliseconds since 1970.
  public var now: Int64
  /// The live sessions, oldest first, as many as were asked for.
  public var sessions: [SessionReport]
  /// How many sessions there are.
  public var sessionCount: Int
  /// How many listens all sessions have together.
  public var listenCount: Int
  /// What passed since the database is served.
  public var traffic: TrafficCounts
  /// How many leaves the data has.
  public var leafCount: Int
  /// The data's bytes, by the Realtime Database's estimate.
  public var estimatedSize: Int
}

/// One live session.
public struct SessionReport: Sendable {
  /// Its number in its database: later ones are higher. The name by which a client may end it is not
  /// told.
  public var id: UInt64
  /// When it began, in milliseconds since 1970.
  public var since: Int64
  /// Who its token says that the client is; nil for nobody.
  public var uid: String?
  /// Whether rules do not apply to it.
  public var isAdmin: Bool
  /// Its listens, as many as were asked for.
  public var listens: [ListenReport]
  /// How many listens it has.
  public var listenCount: Int
  /// What is to be written when it ends, in path order, as much as was asked for.
  public var pending: [PendingReport]
  /// Whether more is to be written then.
  public var hasMorePending: Bool
}

/// One listen of a session.
public struct ListenReport: Hashable, Sendable {
  /// What is listened to.
  public var target: QueryTarget
  /// What names its pushes; nil for a listen to all data.
  public var tag: Int?
}

/// What is to be written at one place when a session ends.
public struct PendingReport: Hashable, Sendable {
  /// What becomes of the place.
  public enum Kind: String, Sendable {
    /// It gets other data.
    case set
    /// It gets data that the server fills in, such as its time.
    case setByServer
    /// Its data goes.
    case remove
  }

  /// The place; a last key `.priority` stands for the priority alone.
  public var path: Path
  /// What becomes of it.
  public var kind: Kind
}

/// How much a report tells, so that taking it stays cheap.
public struct InspectionLimits: Hashable, Sendable {
  /// The most sessions.
  public var sessions: Int
  /// The most listens of one session.
  public var listens: Int
  /// The most places of one session that are to be written when it ends.
  public var pending: Int

  /// How much a report tells.
  public init(sessions: Int = 200, listens: Int = 100, pending: Int = 100) {
    self.sessions = sessions
    self.listens = listens
    self.pending = pending
  }
}
