import ConiferKeyValue
import ConiferStorage
public import ConiferTree

/// What a ``CompanionDatabase`` has read at a place, as it was in one commit.
public struct CompanionSnapshot: Sendable, Hashable {
  /// The place, from the top of the tree.
  public let path: String
  /// The data, as the tree has it.
  public let node: Node
  /// Whether all of the place is there: the server once sent all of it, and the cache has it.
  public let isComplete: Bool
  /// How many writes at, above and below the place wait for the server; they are laid over its data.
  public let pendingWrites: Int

  /// Whether there is anything.
  public var exists: Bool { !node.isEmpty }

  /// The data, as `DataSnapshot.value` gives it.
  public var value: Any? { ValueWriter.plain(node) }

  /// The data decoded.
  ///
  /// - Parameters:
  ///   - type: what to make of it; an optional type is nil where there is nothing.
  ///   - decoder: how.
  /// - Throws: `coding`; the message names the place within the data.
  public func data<Value: Decodable>(
    as type: Value.Type, decoder: Database.Decoder = Database.Decoder()
  ) throws(DatabaseError) -> Value { try decoder.decode(type, from: node) }
}

extension CompanionSnapshot {
  /// Reads a place with the writes of a lane over it.
  ///
  /// - Parameter time: the time that server values show, in milliseconds since 1970.
  init(
    _ view: any StorageView, _ lane: Lane, _ path: Path, isAuthority: Bool, time: Int64
  ) throws(StoreError) {
    var isComplete = isAuthority
    if !isComplete { isComplete = try view.isComplete(lane.tree, path) }
    var node = Node.empty
    if isComplete {
      node = try view.node(lane.tree, path)
    } else {
      // What else is cached there may be old.
      for key in try view.knownCompleteChildren(lane.tree, path) {
        node = node.setting(key, to: try view.node(lane.tree, path.appending(key)))
      }
    }
    var queue = QueueResolver(view, lane, now: time)
    let writes = try queue.writes(touching: [path])
    var touching = 0
    for write in writes {
      let changes = write.changes.filter { $0.path.touches(path) }
      if !changes.isEmpty { touching += 1 }
      for change in changes {
        if let above = path.relative(to: change.path) {
          node = change.node[above]
          isComplete = true
        } else if let below = change.path.relative(to: path) {
          node = node.setting(below, to: change.node)
        }
      }
    }
    self.init(
      path: path.description, node: node, isComplete: isComplete, pendingWrites: touching)
  }
}
