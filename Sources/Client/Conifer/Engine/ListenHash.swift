import ConiferTree
import ConiferWire

/// What the server is told of the data that the client has, so that it sends only what differs.
final class ListenHash: Sendable {
  /// The most bytes of data for which a plain hash does.
  private static let smallData = 1024

  let node: Node
  let plain: String
  /// Of ranges; nil for little data.
  let compound: CompoundHash?

  init(_ node: Node) {
    self.node = node
    plain = NodeHash.hash(node)
    compound = node.estimatedSize > Self.smallData ? CompoundHash(of: node) : nil
  }
}
