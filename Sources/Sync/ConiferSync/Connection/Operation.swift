import ConiferStorage
import ConiferTree

/// Something that was issued beside the queue and waits to be sent.
struct Operation: Sendable {
  /// What it is.
  enum Kind: Sendable {
    case put(TransactionPut)
    case onDisconnect(OperationID, DisconnectRequest)
  }

  /// What it is.
  let kind: Kind
  /// When it was issued, among all that was: after the write with its number.
  var place: OverlayID
  /// The lane that the place is in.
  var lane: Lane
  /// The uptime at which it was issued.
  let issued: Milliseconds

  /// About how many bytes it takes in the window.
  var size: Int? {
    if case .put(let put) = kind { return put.size }
    return nil
  }
}

extension TransactionPut {
  /// About how many bytes it takes on the wire.
  var size: Int { 64 + path.keys.reduce(0) { $0 + $1.utf8Count + 1 } + node.estimatedSize }
}
