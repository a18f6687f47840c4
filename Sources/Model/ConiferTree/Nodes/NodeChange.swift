/// A path and the node that replaces what is there, as one part of a write.
public struct NodeChange: Hashable, Sendable {
  /// The place; the write says what the path is relative to. A last segment `.priority` sets only
  /// the priority.
  public var path: Path
  /// The new value; empty deletes.
  public var node: Node

  /// One replaced node.
  public init(_ path: Path, _ node: Node) {
    self.path = path
    self.node = node
  }
}
