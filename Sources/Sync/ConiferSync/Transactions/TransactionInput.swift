package import ConiferTree
package import ConiferWire

/// What a machine of transactions is told.
package enum TransactionInput: Sendable {
  /// The app began a transaction.
  ///
  /// - isVisible: whether listeners see its result before the server confirmed it.
  /// - position: when it was begun, among all that was issued.
  case start(TransactionID, Path, isVisible: Bool, position: LanePosition)
  /// The app's function returned.
  ///
  /// - writePosition: the position of the write that it makes, newer than all others.
  /// - serverTime: the server's time in milliseconds since 1970.
  case ran(
    TransactionID, TransactionMachine.Decision, writePosition: LanePosition, serverTime: Int64)
  /// The server answered a put.
  ///
  /// - isDataMissing: as in `ConnectionAction.writeAnswered`.
  case putAnswered(OperationID, Response, isDataMissing: Bool = false)
  /// A put ended without an answer.
  case putGivenUp(OperationID, LocalStatus)
  /// A put was not sent, or was refused for want of a valid token.
  case putReturned(OperationID)
  /// Puts can be sent from now on, or no longer.
  case writable(Bool)
  /// What views show at or below a path changed, other than by this machine's own actions.
  case changed(Path)
  /// The app set or updated the nodes at these paths.
  case overwritten([Path])
  /// All transactions end.
  case giveUp(LocalStatus)
  /// Answers the action `proceed`.
  case proceed
}
