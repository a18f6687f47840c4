import ConiferSync
import ConiferTree

/// An event that says that a child of a query was added, changed, removed or moved; keys of siblings are
/// those of the child before it in the query's order, nil for the first one.
public enum DatabaseEvent: Sendable {
  /// A child is there at first, or came.
  case childAdded(DataSnapshot, previousSiblingKey: String?)
  /// A child has another value, or another priority.
  case childChanged(DataSnapshot, previousSiblingKey: String?)
  /// A child went; as it was before.
  case childRemoved(DataSnapshot)
  /// A child has another place in the order.
  case childMoved(DataSnapshot, previousSiblingKey: String?)

  /// What an observer of children is told; nil for the event of a whole value.
  init?(_ database: Database, _ event: DataEvent) {
    let snapshot = DataSnapshot(database, event)
    let key = event.previousKey?.string
    switch event.kind {
    case .childAdded: self = .childAdded(snapshot, previousSiblingKey: key)
    case .childChanged: self = .childChanged(snapshot, previousSiblingKey: key)
    case .childRemoved: self = .childRemoved(snapshot)
    case .childMoved: self = .childMoved(snapshot, previousSiblingKey: key)
    case .value: return nil
    }
  }

  /// The type of the event; never `.value`.
  public var type: DataEventType {
    switch self {
    case .childAdded: .childAdded
    case .childChanged: .childChanged
    case .childRemoved: .childRemoved
    case .childMoved: .childMoved
    }
  }

  /// The child; as it was before when it went.
  public var snapshot: DataSnapshot {
    switch self {
    case .childAdded(let snapshot, _), .childChanged(let snapshot, _), .childRemoved(let snapshot),
      .childMoved(let snapshot, _):
      snapshot
    }
  }

  /// The key of the child before in the query's order; nil for the first one, and for one that went.
  public var previousSiblingKey: String? {
    switch self {
    case .childAdded(_, let key), .childChanged(_, let key), .childMoved(_, let key): key
    case .childRemoved: nil
    }
  }
}
