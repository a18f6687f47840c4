import ConiferQuery
import ConiferStorage
import ConiferSync
import ConiferTree
import ConiferWire

/// A step of an engine's work: a call of the app, an event of the connection, or the end of work
/// beside the steps.
enum Step: Sendable {
  /// Open the storage; the closure tells whether the app went offline meanwhile.
  case open(isAway: @Sendable () -> Bool)
  case write(LocalWrite, WriteCaller)
  /// Nobody holds a receipt of a queued write any longer.
  case receiptReleased(OutboundWriteID)
  case observe(Registration)
  case stopObserving(ListenerID)
  case stopObservingAll(QueryTarget)
  /// Pin a target, or end that.
  case pin(QueryTarget, isPinned: Bool)
  /// Listen to a pin that has waited for the first connection.
  case listenToPin(QueryTarget)
  case get(GetRequest)
  /// Reads that wait to know who is signed in may have waited as long as reads may.
  case endLateGets
  /// The time that a read gives the server is over.
  case endLateGet(OperationID)
  case transact(TransactionRequest)
  /// A transaction's function has returned.
  case transactionRan(TransactionID, TransactionMachine.Decision)
  case onDisconnect(DisconnectRequest, (@Sendable (DatabaseError?) -> Void)?)
  /// Something happened on the connection with a number.
  case transportEvent(ConnectionNumber, TransportEvent)
  /// Give the connection's machine an input.
  case tellConnection(ConnectionInput)
  /// The marks that writes are sent are durable, or could not be stored, for this reason.
  case writesMarked([OutboundWriteID], DatabaseError?)
  case purge
  /// Somebody signed in or out.
  case refreshToken
  /// The token provider answered a question.
  case tokenAnswered(TokenAnswer, UInt64)
  /// The provider of the app's own tokens answered a question.
  case appTokenAnswered(AppTokenAnswer, UInt64)
  /// Run a closure between two other steps.
  case run(@Sendable (EngineLoop) -> Void)
  /// Run a closure that asks about the user's queue, or changes it.
  case useQueue(isChange: Bool, @Sendable (EngineLoop) -> Void)
  /// Send what waits to the authority in this process, going online for that; the closure is called when it has
  /// answered, or does not for too long. What is asked for while the storage is suspended is not waited for.
  case handOver(@Sendable () -> Void)
  /// Take writes that other processes have left for the user who is signed in, as many as a step takes.
  case takeMail(MailTaking)
  /// Let go of the storage until it is resumed; the closure is told why not.
  case suspend(@Sendable (DatabaseError?) -> Void)
  /// Go on with the storage.
  case resume(@Sendable (DatabaseError?) -> Void)
  case close(@Sendable () -> Void)
}

extension Step {
  /// Whether it queues a write.
  var isWrite: Bool { if case .write = self { true } else { false } }

  /// Whether it waits while the storage is suspended.
  var awaitsStorage: Bool {
    switch self {
    case .handOver, .suspend, .resume, .close: false
    default: true
    }
  }

  /// Whether it may use the storage, so that housekeeping waits.
  var usesStorage: Bool {
    switch self {
    case .tellConnection(.tick), .receiptReleased: false
    case .takeMail(let taking): taking.done != nil
    default: true
    }
  }

  /// How it depends on who is signed in.
  var dependence: IdentityGate<Step>.Dependence {
    switch self {
    case .write, .transact, .onDisconnect, .purge: .needsUser
    case .takeMail(let taking) where taking.done != nil: .needsUser
    case .useQueue(let isChange, _): .concernsQueue(isChange: isChange)
    case .get(let request) where request.target.path.first != .info: .followsWrites
    default: .none
    }
  }
}
