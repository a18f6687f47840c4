/// The value that a reader gets for a server timestamp that the server has not resolved yet.
public enum ServerTimestampBehavior: Sendable, Hashable {
  /// Null.
  case none
  /// The time when the write was made on this device.
  case estimate
  /// The last value that was no such placeholder; null when there was none.
  case previous
}

extension DocumentValue {
  /// The value without pending server timestamps.
  ///
  /// - Parameter behavior: what stands in their place.
  public func resolved(_ behavior: ServerTimestampBehavior) -> DocumentValue {
    switch self {
    case .serverTimestamp(let written, let previous):
      switch behavior {
      case .none: return .null
      case .estimate: return .timestamp(written)
      case .previous: return previous?.resolved(behavior) ?? .null
      }
    case .array(let values): return .array(values.map { $0.resolved(behavior) })
    case .map(let map): return .map(map.resolved(behavior))
    default: return self
    }
  }
}

extension MapValue {
  /// The map without pending server timestamps.
  ///
  /// - Parameter behavior: what stands in their place.
  public func resolved(_ behavior: ServerTimestampBehavior) -> MapValue {
    MapValue(sorted: fields.map { Field($0.name, $0.value.resolved(behavior)) })
  }
}
