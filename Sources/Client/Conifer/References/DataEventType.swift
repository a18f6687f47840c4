import ConiferSync

/// The kind of event that an observer asks for, with the raw values of the Apple SDK.
public enum DataEventType: Int, Sendable, CaseIterable {
  /// A child came: once for each that is there, then for each new one.
  case childAdded = 0
  /// A child went.
  case childRemoved = 1
  /// A child has another value, or another priority.
  case childChanged = 2
  /// A child has another place in the order.
  case childMoved = 3
  /// Anything changed: the whole value, once and then after each change.
  case value = 4

  /// The engine's name for it.
  var kind: DataEvent.Kind {
    switch self {
    case .childAdded: .childAdded
    case .childRemoved: .childRemoved
    case .childChanged: .childChanged
    case .childMoved: .childMoved
    case .value: .value
    }
  }

  init(_ kind: DataEvent.Kind) {
    self =
      switch kind {
      case .childAdded: .childAdded
      case .childRemoved: .childRemoved
      case .childChanged: .childChanged
      case .childMoved: .childMoved
      case .value: .value
      }
  }
}
