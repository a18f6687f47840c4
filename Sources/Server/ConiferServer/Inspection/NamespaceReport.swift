package import ConiferQuery
package import ConiferTree

/// A database at one moment, as a developer looks at it: who is connected, and what passed.
///
/// It holds no data and no token.
package struct NamespaceReport: Sendable {
  /// The database's name.
  package var name: String
  /// The server's time in milliseconds since 1970.
  package var now: Int64
  /// The live sessions, oldest first, as many as were asked for.
  package var sessions: [SessionReport]
  /// How many sessions there are.
  package var sessionCount: Int
  /// How many listens all sessions have together.
  package var listenCount: Int
  /// What passed since the database is served.
  package var traffic: TrafficCounts
  /// How many leaves the data has.
  package var leafCount: Int
  /// The data's bytes, by the Realtime Database's estimate.
  package var estimatedSize: Int
}

/// One live session.
package struct SessionReport: Sendable {
  /// Its number in its database: later ones are higher. The name by which a client may end it is not
  /// told.
  package var id: UInt64
  /// When it began, in milliseconds since 1970.
  package var since: Int64
  /// Who its token says that the client is; nil for nobody.
  package var uid: String?
  /// Whether rules do not apply to it.
  package var isAdmin: Bool
  /// Its listens, as many as were asked for.
  package var listens: [ListenReport]
  /// How many listens it has.
  package var listenCount: Int
  /// What is to be written when it ends, in path order, as much as was asked for.
  package var pending: [PendingReport]
  /// Whether more is to be written then.
  package var hasMorePending: Bool
}

/// One listen of a session.
package struct ListenReport: Hashable, Sendable {
  /// What is listened to.
  package var target: QueryTarget
  /// What names its pushes; nil for a listen to all data.
  package var tag: Int?
}

/// What is to be written at one place when a session ends.
package struct PendingReport: Hashable, Sendable {
  /// What becomes of the place.
  package enum Kind: String, Sendable {
    /// It gets other data.
    case set
    /// It gets data that the server fills in, such as its time.
    case setByServer
    /// Its data goes.
    case remove
  }

  /// The place; a last key `.priority` stands for the priority alone.
  package var path: Path
  /// What becomes of it.
  package var kind: Kind
}

/// How much a report tells, so that taking it stays cheap.
package struct InspectionLimits: Hashable, Sendable {
  /// The most sessions.
  package var sessions: Int
  /// The most listens of one session.
  package var listens: Int
  /// The most places of one session that are to be written when it ends.
  package var pending: Int

  /// How much a report tells.
  package init(sessions: Int = 200, listens: Int = 100, pending: Int = 100) {
    self.sessions = sessions
    self.listens = listens
    self.pending = pending
  }
}
