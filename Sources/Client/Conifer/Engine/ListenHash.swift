import ConiferTree
import ConiferWire

/// The hashes of the client's data that a listen sends, so that the server sends only what differs.
final class ListenHash: Sendable {
  /// The size in bytes up to which the plain hash is sent alone.
  private static let smallData = 1024

  let node: Node
  let plain: String
  /// The hashes of ranges of the data; nil for small data.
  let compound: CompoundHash?

  init(_ node: Node) {
    self.node = node
    plain = NodeHash.hash(node)
    compound = node.estimatedSize > Self.smallData ? CompoundHash(of: node) : nil
  }
}
