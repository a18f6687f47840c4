package import ConiferQuery
package import ConiferTree

/// A report on a database for developers: who is connected, and the traffic so far.
///
/// It holds no data and no token.
package struct NamespaceReport: Sendable {
  /// The database's name.
  package var name: String
  /// The server's time in milliseconds since 1970.
  package var now: Int64
  /// The live sessions, oldest first, up to the limit.
  package var sessions: [SessionReport]
  /// How many sessions there are.
  package var sessionCount: Int
  /// How many listens all sessions have together.
  package var listenCount: Int
  /// The traffic since the server began to serve the database.
  package var traffic: TrafficCounts
  /// How many leaves the data has.
  package var leafCount: Int
  /// The data's bytes, by the Realtime Database's estimate.
  package var estimatedSize: Int
}

/// One live session.
package struct SessionReport: Sendable {
  /// Its number in its database: later sessions have higher numbers. The name by which a client may
  /// end the session is not included.
  package var id: UInt64
  /// When it began, in milliseconds since 1970.
  package var since: Int64
  /// The user of its token; nil for nobody.
  package var uid: String?
  /// Whether rules do not apply to it.
  package var isAdmin: Bool
  /// Its listens, up to the limit.
  package var listens: [ListenReport]
  /// How many listens it has.
  package var listenCount: Int
  /// The writes of its onDisconnect operations, in path order, up to the limit.
  package var pending: [PendingReport]
  /// Whether there are more of them.
  package var hasMorePending: Bool
}

/// One listen of a session.
package struct ListenReport: Hashable, Sendable {
  /// What is listened to.
  package var target: QueryTarget
  /// The tag of its pushes; nil for a listen to all data.
  package var tag: Int?
}

/// The write of an onDisconnect operation at one place.
package struct PendingReport: Hashable, Sendable {
  /// The kind of write.
  package enum Kind: String, Sendable {
    /// New data.
    case set
    /// Data with server values, such as the time.
    case setByServer
    /// A removal.
    case remove
  }

  /// The place; a last key `.priority` means only the priority.
  package var path: Path
  /// The kind of write.
  package var kind: Kind
}

/// Limits of a report, which keep it cheap.
package struct InspectionLimits: Hashable, Sendable {
  /// The maximum number of sessions.
  package var sessions: Int
  /// The maximum number of listens of one session.
  package var listens: Int
  /// The maximum number of onDisconnect writes of one session.
  package var pending: Int

  /// Limits of a report.
  package init(sessions: Int = 200, listens: Int = 100, pending: Int = 100) {
    self.sessions = sessions
    self.listens = listens
    self.pending = pending
  }
}
