import ConiferKeyValue
import ConiferTree
import TestSupport
import Testing

@testable import ConiferStorage

/// Bytes of queued writes whose nodes nest more deeply than any write does.
@Suite struct DeepWriteTests {
  /// A node with so many levels of keys.
  private static func node(_ depth: Int) -> Bytes {
    var writer = ByteWriter()
    for level in 0..<depth {
      // Every other one with a priority, which is another form.
      writer.byte((level % 2 == 0 ? NodeCodec.Form.interior : .interiorWithPriority).rawValue)
      if level % 2 == 1 { LeafCodec.append(.integer(1), nil, to: &writer) }
      writer.varint(1)
      writer.sized("k")
    }
    writer.byte(NodeCodec.Form.leaf.rawValue)
    LeafCodec.append(.integer(7), nil, to: &writer)
    return writer.bytes
  }

  /// The bytes of a set of such a node.
  private static func write(_ depth: Int) -> Bytes {
    var writer = ByteWriter()
    writer.byte(WriteContent.Kind.set.rawValue)
    NodeCodec.append(.root, to: &writer)
    writer.varint(1)
    NodeCodec.append(.root, to: &writer)
    writer.append(node(depth))
    writer.varint(0)
    writer.sized("")
    writer.zigzag(0)
    return writer.bytes
  }

  @Test(arguments: [0, 1, 33, 127, 128, 129, 130, 1_000_000])
  func `Nodes are read to four times the depth that writes of clients may have`(_ depth: Int) throws
  {
    let isRead = depth <= 4 * Path.deepest
    var reader = ByteReader(Self.node(depth))
    #expect((NodeCodec.node(&reader)?.depth == depth) == isRead)
    let bytes = Self.write(depth)
    #expect((WriteContent(bytes: bytes)?.changes.first?.node.depth == depth) == isRead)
    let payload = WritePayload(kind: .tree, path: .root, touches: [.root], bytes: bytes)
    #expect((WriteContent(payload) != nil) == isRead)
    #expect(code { () throws(StoreError) in try payload.check() } == (isRead ? nil : .invalid))
  }
}
