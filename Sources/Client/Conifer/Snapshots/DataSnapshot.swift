import ConiferQuery
import ConiferSync
public import ConiferTree

/// The data at a reference, or the result of a query, as it was at one moment; it is immutable, and
/// may be kept and shared.
public struct DataSnapshot: Sendable {
  /// The reference to the snapshot's path.
  public let ref: DatabaseReference
  /// The data, as the tree has it.
  public let node: Node
  /// What ``children`` are sorted by.
  let index: QueryIndex
  /// Whether the data is the server's or from the cache, whether writes wait in it, and when the server last told it.
  public let metadata: Metadata

  init(
    _ ref: DatabaseReference, _ node: Node, _ index: QueryIndex = .priority,
    _ metadata: Metadata = Metadata(ViewKnowledge())
  ) {
    self.ref = ref
    self.node = node
    self.index = index
    self.metadata = metadata
  }

  /// What a read or a transaction answers.
  init(_ ref: DatabaseReference, _ known: KnownNode, _ index: QueryIndex = .priority) {
    self.init(ref, known.node, index, Metadata(known.knowledge))
  }

  /// What an event of a listener tells.
  init(_ database: Database, _ event: DataEvent) {
    let path = event.key.map { event.target.path.appending($0) } ?? event.target.path
    self.init(
      DatabaseReference(database, path), event.node, event.target.spec.index,
      Metadata(event.knowledge))
  }

  /// Whether there is anything.
  public func exists() -> Bool { !node.isEmpty }

  /// The data: a String, a number, a Bool, `[String: Any]`, `[Any]`, or nil where there is nothing.
  ///
  /// Numbers can be cast to `Int`, to `Double`, and to other types that hold them. A map whose keys
  /// are mostly the numbers from 0 up comes as an array, with `NSNull` in its holes, as the Realtime
  /// Database shows it; ``data(as:decoder:)`` and ``children`` do not depend on that.
  public var value: Any? { ValueWriter.plain(node) }

  /// The data with its priorities, as `.value` and `.priority`; writing it makes the same data again.
  public func valueInExportFormat() -> Any? { ValueWriter.export(node) }

  /// The priority: a String, a number, or nil.
  public var priority: Any? { node.priority.map { ValueWriter.value($0.leaf) } }

  /// The place's own key; empty for the root.
  public var key: String { ref.key ?? "" }

  /// The children in the order of the query that the snapshot is from.
  public var children: Children { Children(self) }

  /// How many children there are.
  public var childrenCount: UInt { UInt(node.childCount) }

  /// Whether there are children.
  public func hasChildren() -> Bool { node.childCount > 0 }

  /// Whether there is anything at a path from here.
  public func hasChild(_ childPathString: String) -> Bool { !node[Path(childPathString)].isEmpty }

  /// What is at a path from here.
  public func childSnapshot(forPath childPathString: String) -> DataSnapshot {
    DataSnapshot(ref.child(childPathString), node[Path(childPathString)], index, metadata)
  }
}

extension DataSnapshot: CustomStringConvertible {
  /// The place and the data in short.
  public var description: String { "\(ref.path): \(node.debugDescription)" }
}

extension DataSnapshot: Equatable {
  /// Whether place, data and priorities are the same; numbers as doubles. The metadata does not count.
  public static func == (a: DataSnapshot, b: DataSnapshot) -> Bool {
    a.ref == b.ref && a.node == b.node
  }
}
