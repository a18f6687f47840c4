import ConiferDocument
import ConiferWire

/// The number of a stream; never given twice by a process.
struct StreamID: Hashable, Comparable, Sendable {
  let rawValue: UInt64

  static func < (a: StreamID, b: StreamID) -> Bool { a.rawValue < b.rawValue }
}

/// The number of a client's connection to a database; never given twice by a process.
struct ConnectionID: Hashable, Sendable {
  let rawValue: UInt64

  /// The number that counts a user's calls through fronts, which come without a connection to the
  /// database; calls of nobody are counted together too. These numbers are above those of
  /// connections.
  static func api(of user: String?) -> ConnectionID {
    var hasher = Hasher()
    hasher.combine(user.map { Array($0.utf8) })
    return ConnectionID(rawValue: UInt64(bitPattern: Int64(hasher.finalize())) | 1 << 63)
  }
}

/// What a database is asked for; one after the other.
enum DatabaseRequest: Sendable {
  /// What happens to a stream of listens.
  enum Watch: Sendable {
    case add(WatchTarget)
    /// The client asked for a target that is none, for a reason.
    case refuse(TargetID, StatusError)
    case remove(TargetID)
    /// The client took a moment.
    case ready
    case close
  }

  /// What happens to a stream of writes.
  enum Writes: Sendable {
    case greet(token: [UInt8])
    /// The batch's number is nil where the client's protocol has none.
    case send([Mutation], batch: Int64?, token: [UInt8])
    /// The client sent something that is no batch, for a reason: the stream ends with it.
    case refuse(StatusError)
    case close
  }

  /// Who commits the writes, and gets the answer.
  enum Committer: Sendable {
    /// The connection is nil for the server itself.
    case caller(Caller, ConnectionID?, @Sendable (Result<MadeCommit, StatusError>) -> Void)
    /// A transaction's: they are made only while nothing of what it read has changed.
    case transaction(
      TransactionReads, Caller, ConnectionID?, @Sendable (Result<MadeCommit, StatusError>) -> Void
    )
    case stream(StreamID, batch: Int64?, token: [UInt8])
  }

  case openWatch(StreamID, token: String?, @Sendable ([WatchStreamEvent]) -> Void)
  case watch(StreamID, Watch)
  case openWrites(StreamID, token: String?, @Sendable (WriteStreamEvent) -> Void)
  case writes(StreamID, Writes)
  case commit([Mutation], Committer)
  /// Writes that are made one by one, each alone; the connection is who asks for them together.
  case commitEach(
    [Mutation], Caller, ConnectionID?, @Sendable ([Result<MadeCommit, StatusError>]) -> Void)
  /// Removes all documents; called once it is done, with the reason when it is not.
  case clear(@Sendable (StatusError?) -> Void)
  /// A stream asked for more than may wait: it ends.
  case flooded(StreamID)
  /// Who may do what from now on.
  case setAccess(DocumentAccess)
  /// All tokens in use end.
  case expireTokens
  /// Tokens may have expired.
  case tick
  /// Called once all that was asked for before is done.
  case waitUntilIdle(@Sendable () -> Void)
  /// Ends all streams.
  case shutDown(StatusError, @Sendable () -> Void)
}
