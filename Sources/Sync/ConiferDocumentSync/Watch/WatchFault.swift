package import ConiferDocument
package import ConiferWire

/// What a server said that makes no sense and is passed over; the log is told of each kind once a stream.
package enum WatchFault: Sendable, Hashable, CustomStringConvertible {
  /// A document is said to match a target that does not look where it is.
  case misplaced(DocumentPath, TargetID)

  /// The fault in words.
  package var description: String {
    switch self {
    case .misplaced(let path, let target):
      "the server said that \(path) matches the target \(target), which does not look there"
    }
  }
}
