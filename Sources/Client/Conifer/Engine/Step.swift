import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire

/// Something that the engine is to do.
enum Step: Sendable {
  /// Open the storage; the closure tells whether the app went offline meanwhile.
  case open(isAway: @Sendable () -> Bool)
  case write(LocalWrite, WriteCaller)
  /// Nobody holds a receipt of a queued write any longer.
  case released(OutboundWriteID)
  case observe(Registration)
  case stop(ListenerID)
  case stopAll(QueryTarget)
  case pin(Bool, QueryTarget)
  /// Listen to a pin that has waited for the first connection.
  case listenToPin(QueryTarget)
  case get(GetRequest)
  /// Reads that wait to know who is signed in may have waited as long as reads may.
  case endWaitingGets
  case transact(TransactionRequest)
  /// A transaction's function has returned.
  case ran(TransactionID, TransactionMachine.Decision)
  case onDisconnect(DisconnectRequest, (@Sendable (DatabaseError?) -> Void)?)
  /// Something happened on the connection with a number.
  case event(ConnectionNumber, TransportEvent)
  /// The connection's machine is told something.
  case tell(ConnectionInput)
  /// It is durable that writes are sent, or why not.
  case marked([OutboundWriteID], DatabaseError?)
  case purge
  case tick
  /// Somebody signed in or out.
  case refreshToken
  /// The token provider answered a question.
  case tokenAnswered(TokenAnswer, UInt64)
  /// Something is asked of the engine between two steps.
  case ask(@Sendable (EngineLoop) -> Void)
  /// Something is asked about the user's queue, or changed in it.
  case askQueue(isChange: Bool, @Sendable (EngineLoop) -> Void)
  case close(@Sendable () -> Void)
}

extension Step {
  /// How it depends on who is signed in.
  var dependence: IdentityGate<Step>.Dependence {
    switch self {
    case .write, .transact, .onDisconnect, .purge: .needsUser
    case .askQueue(let isChange, _): .concernsQueue(isChange: isChange)
    case .get(let request) where request.target.path.first != .info: .followsWrites
    default: .none
    }
  }
}
