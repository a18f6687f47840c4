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
  /// What happens to a namespace.
  enum Input: Sendable {
    /// A client connected, under a name that it may give as its last session later.
    case connect(SessionID, name: String, host: String, lastSession: String?)
    /// A client said something.
    case message(SessionID, ClientMessage)
    /// A connection is gone.
    case end(SessionID)
    /// The server ends all sessions, with the reason.
    case evict(String)
    /// Tokens lose their validity before their time; all when there is no list.
    case expireTokens([SessionID]?)
    /// The server itself writes; paths from the root. The number comes back with the answer.
    case call(UInt64, [NodeChange])
    /// Somebody without a session asks for something; the number comes back with the answer. With a
    /// limit a write may be as large.
    case perform(UInt64, Request, VerifiedToken?, limit: Int?)
    /// A session is a token's bearer's, who was checked already.
    case adopt(SessionID, VerifiedToken?)
    /// Other rules hold: of this database alone, or of all that have none of their own.
    case setRules(any AccessRules, isCommon: Bool)
    /// Other indexes are declared; nil when declaring them is not asked for.
    case setIndexes([IndexDefinition]?)
    /// What makes the database ready has been done, and would be done again if it were made anew.
    case prepared
    /// The commit that was asked for is done, or failed.
    case committed(StoreError?)
    /// Time has passed.
    case tick
  }

  /// What is to be done.
  enum Output: Sendable {
    /// Send a message to a session.
    case send(SessionID, ServerMessage)
    /// Close a session's connection; it is forgotten already.
    case close(SessionID, String)
    /// Nothing that a session asked for waits any more, as it has ended.
    case ended(SessionID)
    /// Store replaced nodes, all or none, then say `committed`.
    case commit([NodeChange])
    /// Answer a call.
    case answer(UInt64, Response)
    /// Answer who asked without a session; with what was written.
    case performed(UInt64, Response, [NodeChange])
    /// Say `tick` at this time by the server's clock.
    case wake(Int64)
    /// Tell the log.
    case log(String)
    /// Tell the log what somebody brings about as often as they like.
    case note(String)
  }
}
