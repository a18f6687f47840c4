package import ConiferDocument
package import ConiferWire

/// What a server said that makes no sense and is passed over; the log is told of each kind once a stream.
package enum WatchFault: Sendable, Hashable, CustomStringConvertible {
  /// A document is said to match a target that does not look where it is.
  case misplaced(DocumentPath, TargetID)
  /// A snapshot is of a time before the newest one.
  case past(Timestamp, newest: Timestamp)
  /// The server's time went back, so that what the client knows as of later times is void.
  case wentBack(Timestamp, newest: Timestamp)

  /// The kind, which the log is told of once.
  var kind: Int {
    switch self {
    case .misplaced: 0
    case .past: 1
    case .wentBack: 2
    }
  }

  /// The fault in words.
  package var description: String {
    switch self {
    case .misplaced(let path, let target):
      "the server said that \(path) matches the target \(target), which does not look there"
    case .past(let time, let newest):
      "a snapshot is of \(time), before the newest one, of \(newest)"
    case .wentBack(let time, let newest):
      "the server's time went back from \(newest) to \(time): all is asked for anew"
    }
  }
}

extension Timestamp {
  /// Whether a time of the server's is later than another one by more than its replicas, and a client that was away for a
  /// moment, may differ: the server's time was wrong then, or is now.
  package func isFarAhead(of other: Timestamp) -> Bool { seconds - other.seconds >= 3_600 }
}
