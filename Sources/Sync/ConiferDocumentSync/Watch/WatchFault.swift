package import ConiferDocument
package import ConiferWire

/// What a server said that is invalid and is passed over; the log is told of each kind once a stream.
package enum WatchFault: Sendable, Hashable, CustomStringConvertible {
  /// A document is said to match a target that does not look where it is.
  case misplaced(DocumentPath, TargetID)
  /// A snapshot is of a time before the newest one.
  case past(Timestamp, newest: Timestamp)
  /// The server's time went back, so that what the client knows as of later times is void.
  case wentBack(Timestamp, newest: Timestamp)
  /// What it said of a document that no listener needs cannot be read.
  case unreadable(StatusError)

  /// What the log is told of once.
  enum Kind: Sendable {
    case misplaced, past, wentBack, unreadable
  }

  var kind: Kind {
    switch self {
    case .misplaced: .misplaced
    case .past: .past
    case .wentBack: .wentBack
    case .unreadable: .unreadable
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
    case .unreadable(let error): error.message
    }
  }
}
