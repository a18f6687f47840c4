import ConiferKeyValue
import ConiferQuery
import ConiferStorage
import ConiferTree
import ConiferWire

/// A session's number in its namespace: later ones are higher.
struct SessionID: Hashable, Comparable, Sendable {
  let rawValue: UInt64

  static func < (a: SessionID, b: SessionID) -> Bool { a.rawValue < b.rawValue }
}

extension Namespace {
  /// An event for a namespace.
  enum Input: Sendable {
    /// A client connected; it may later give this name as its last session.
    case connect(SessionID, name: String, host: String, lastSession: String?)
    /// A client sent a message.
    case message(SessionID, ClientMessage)
    /// A connection ended.
    case end(SessionID)
    /// The server ends all sessions, with the reason.
    case evict(String)
    /// Tokens expire early: those in the list, or all when it is nil.
    case expireTokens([SessionID]?)
    /// The server itself writes, with paths from the root. The answer carries the number.
    case call(UInt64, [NodeChange])
    /// A request without a session. The answer carries the number; the limit replaces that of
    /// sessions.
    case perform(UInt64, Request, VerifiedToken?, limit: Int?)
    /// A session gets the user of a token that was already verified.
    case adopt(SessionID, VerifiedToken?)
    /// New rules, for this database only or for all without their own.
    case setRules(any AccessRules, isCommon: Bool)
    /// New rules for this database, which are stored with it. The answer carries the number.
    case storeRules(UInt64, SecurityRules)
    /// What an earlier server left: the rules file that is stored, and sessions, which end at once.
    case restore(rules: [UInt8]?, [(SessionID, LeftSession)])
    /// New declared indexes; nil when indexes are not required.
    case setIndexes([IndexDefinition]?)
    /// The database was prepared; the preparation would be repeated if it were created again.
    case prepared
    /// The requested commit succeeded or failed.
    case committed(StoreError?)
    /// The requested time has come.
    case tick
  }

  /// An effect to carry out.
  enum Output: Sendable {
    /// Send a message to a session.
    case send(SessionID, ServerMessage)
    /// Close a session's connection; the session is already removed.
    case close(SessionID, String)
    /// The session has ended, and none of its requests waits any more.
    case ended(SessionID)
    /// Store replaced nodes and records, all or none, then send the input `committed`.
    case commit([NodeChange], [ServerRecord])
    /// Answer a call.
    case answer(UInt64, Response)
    /// Answer a caller without a session, with the written data.
    case performed(UInt64, Response, [NodeChange])
    /// Send the input `tick` at this time of the server's clock.
    case wake(Int64)
    /// Log a message.
    case log(String)
    /// Log a message that clients can cause as often as they like.
    case note(String)
  }
}
