import ConiferStorage
import ConiferTree

/// Something that is sent besides the queue's writes, in order with them.
struct Operation: Sendable {
  enum Kind: Sendable {
    case put(TransactionPut)
    case onDisconnect(OperationID, DisconnectRequest)
  }

  let kind: Kind
  /// Its position in the order of all that was issued: after the write with its number.
  var position: LanePosition
  /// The lane that the position is in.
  var lane: Lane

  /// About how many bytes it takes in the window.
  var size: Int? {
    if case .put(let put) = kind { return put.size }
    return nil
  }
}
