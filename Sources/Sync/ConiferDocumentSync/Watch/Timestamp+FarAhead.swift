package import ConiferDocument

extension Timestamp {
  /// Whether this server time is an hour or more later than another one. Neither differences
  /// between replicas nor a client that was away for a moment explain that: one of the two times
  /// is wrong.
  package func isFarAhead(of other: Timestamp) -> Bool { seconds - other.seconds >= 3_600 }

  /// Whether a time of the server's is later than another one by more than its replicas may differ: by a second.
  func isAhead(of other: Timestamp) -> Bool { microseconds - other.microseconds >= 1_000_000 }
}
