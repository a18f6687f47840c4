import ConiferDocument

/// The value that a reader gets for a server timestamp that the server has not resolved yet.
public enum ServerTimestampBehavior: Int, Sendable, Hashable {
  /// Null.
  case none
  /// The time when the write was made here.
  case estimate
  /// The last value that the server had; null when there was none.
  case previous

  var model: ConiferDocument.ServerTimestampBehavior {
    switch self {
    case .none: .none
    case .estimate: .estimate
    case .previous: .previous
    }
  }
}
