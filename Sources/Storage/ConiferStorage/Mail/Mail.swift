package import ConiferKeyValue
import ConiferTree

/// A write that a process beside the owner of a store wants queued, as a file in the store's ``Mailbox``.
package struct Mail: Hashable, Sendable {
  /// The largest mail, in bytes.
  package static let largest = 32 << 20

  /// What the bytes of a file are.
  package enum Reading: Sendable {
    case mail(Mail)
    /// It was written by a later version, which can read it.
    case newer
    case damaged
  }

  /// The name of the tree that is written to.
  package let tree: String
  /// Whose write it is; empty for nobody's.
  package let identity: String
  /// What is to be queued.
  package let payload: WritePayload

  package init(tree: String, identity: String, payload: WritePayload) {
    self.tree = tree
    self.identity = identity
    self.payload = payload
  }

  private static let magic = Bytes("Cnfrmail".utf8)
  private static let format: UInt64 = 1

  /// The bytes of its file.
  ///
  /// - Parameter name: the file's, to which they are bound.
  package func bytes(as name: String) -> Bytes {
    var writer = ByteWriter(Self.magic)
    writer.varint(Self.format)
    writer.sized(tree)
    writer.sized(identity)
    writer.byte(payload.kind.rawValue)
    NodeCodec.append(payload.path, to: &writer)
    writer.varint(payload.touches.count)
    for path in payload.touches { NodeCodec.append(path, to: &writer) }
    writer.sized(payload.bytes)
    writer.littleEndian(Self.checksum(writer.bytes, name))
    return writer.bytes
  }

  /// Reads the bytes of a file.
  package static func read(_ bytes: Bytes, as name: String) -> Reading {
    guard bytes.count > magic.count + 8, bytes.starts(with: magic) else { return .damaged }
    let body = Bytes(bytes.dropLast(8))
    var end = ByteReader(bytes, from: body.count)
    guard end.littleEndian() == checksum(body, name) else { return .damaged }
    var reader = ByteReader(body, from: magic.count)
    guard let format = reader.varint() else { return .damaged }
    guard format == Self.format else { return .newer }
    guard let tree = reader.text(), let identity = reader.text(), let kind = reader.byte(),
      let path = NodeCodec.path(&reader), let count = reader.size()
    else { return .damaged }
    var touches: [Path] = []
    for _ in 0..<count {
      guard let path = NodeCodec.path(&reader) else { return .damaged }
      touches.append(path)
    }
    guard let content = reader.sized(), reader.isAtEnd else { return .damaged }
    let payload = WritePayload(
      kind: WritePayload.Kind(rawValue: kind), path: path, touches: touches, bytes: content)
    guard (try? payload.check()) != nil else { return .damaged }
    return .mail(Mail(tree: tree, identity: identity, payload: payload))
  }

  /// The checksum of a file's bytes, which differs under another name.
  private static func checksum(_ body: Bytes, _ name: String) -> UInt64 {
    XXHash64.hash(body, seed: XXHash64.hash(Bytes(name.utf8)))
  }
}
