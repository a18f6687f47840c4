package import ConiferDocument

extension Timestamp {
  /// Whether a time of the server's is later than another one by more than its replicas, and a client that was away for a
  /// moment, may differ: the server's time was wrong then, or is now.
  package func isFarAhead(of other: Timestamp) -> Bool { seconds - other.seconds >= 3_600 }

  /// Whether a time of the server's is later than another one by more than its replicas may differ: by a second.
  func isAhead(of other: Timestamp) -> Bool { microseconds - other.microseconds >= 1_000_000 }
}
