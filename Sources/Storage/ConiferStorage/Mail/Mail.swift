package import ConiferKeyValue
import ConiferTree

/// A write that a process beside the owner of a store wants queued, as a file in the store's ``Mailbox``.
package struct Mail: Equatable, Sendable {
  /// The largest mail, in bytes. Small values take many times their bytes once they are decoded.
  package static let largest = 1 << 20

  /// Whose write a mail is: what its file begins with in every format, under a checksum of its own.
  package struct Address: Equatable, Sendable {
    /// No file has more bytes before the end of its address.
    static let longest = 1024

    /// The name of the tree that is written to.
    package let tree: String
    /// The user; empty for nobody.
    package let identity: String

    package init(tree: String, identity: String) {
      self.tree = tree
      self.identity = identity
    }

    /// Whether tree and user are the same, by bytes.
    package static func == (a: Address, b: Address) -> Bool {
      a.tree.utf8.elementsEqual(b.tree.utf8) && a.identity.utf8.elementsEqual(b.identity.utf8)
    }
  }

  /// What a file is.
  package enum Reading: Sendable {
    case mail(Mail)
    /// It is for another tree or user than was asked for.
    case elsewhere(Address)
    /// It was written by a later version, which can read it. So many bytes were read.
    case newer(Int)
    /// It is no regular file, or the system does not let this process read it now.
    case unreadable
    /// So many bytes were read.
    case damaged(Int)
  }

  package let address: Address
  /// What is to be queued.
  package let payload: WritePayload

  /// A mail.
  ///
  /// - Parameters:
  ///   - tree: the name of the tree that is written to.
  ///   - identity: whose write it is; empty for nobody's.
  ///   - payload: what is to be queued.
  package init(tree: String, identity: String, payload: WritePayload) {
    address = Address(tree: tree, identity: identity)
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
    writer.sized(address.tree)
    writer.sized(address.identity)
    writer.littleEndian(Self.checksum(writer.bytes, name))
    writer.byte(payload.kind.rawValue)
    NodeCodec.append(payload.path, to: &writer)
    writer.varint(payload.touches.count)
    for path in payload.touches { NodeCodec.append(path, to: &writer) }
    writer.sized(payload.bytes)
    writer.littleEndian(Self.checksum(writer.bytes, name))
    return writer.bytes
  }

  /// Reads the bytes of a file.
  static func read(_ bytes: Bytes, as name: String) -> Reading {
    guard bytes.count > magic.count + 8, let format = self.format(bytes) else {
      return .damaged(bytes.count)
    }
    let body = Bytes(bytes.dropLast(8))
    var end = ByteReader(bytes, from: body.count)
    guard end.littleEndian() == checksum(body, name) else { return .damaged(bytes.count) }
    guard format == Self.format else { return .newer(bytes.count) }
    var reader = ByteReader(body)
    guard let address = address(&reader, name), let kind = reader.byte(),
      let path = NodeCodec.path(&reader), let count = reader.size()
    else { return .damaged(bytes.count) }
    var touches: [Path] = []
    for _ in 0..<count {
      guard let path = NodeCodec.path(&reader) else { return .damaged(bytes.count) }
      touches.append(path)
    }
    guard let content = reader.sized(), reader.isAtEnd else { return .damaged(bytes.count) }
    let payload = WritePayload(
      kind: WritePayload.Kind(rawValue: kind), path: path, touches: touches, bytes: content)
    guard (try? payload.check()) != nil else { return .damaged(bytes.count) }
    return .mail(Mail(tree: address.tree, identity: address.identity, payload: payload))
  }

  /// Whether a file says that a later version wrote it; meant for what is too large to be read whole.
  static func isNewer(_ beginning: Bytes) -> Bool { (format(beginning) ?? 0) > format }

  /// The format that a file says it has; nil for one that is no mail.
  private static func format(_ bytes: Bytes) -> UInt64? {
    var reader = ByteReader(bytes)
    guard reader.take(magic.count) == magic else { return nil }
    return reader.varint()
  }

  /// The address that a file begins with; nil when these bytes have none that is sound.
  static func address(_ bytes: Bytes, as name: String) -> Address? {
    var reader = ByteReader(bytes)
    return address(&reader, name)
  }

  private static func address(_ reader: inout ByteReader, _ name: String) -> Address? {
    // It is the same in every format.
    guard reader.take(magic.count) == magic, reader.varint() != nil, let tree = reader.text(),
      let identity = reader.text(), reader.at <= Address.longest
    else { return nil }
    let sum = checksum(Bytes(reader.bytes[..<reader.at]), name)
    guard reader.littleEndian() == sum else { return nil }
    return Address(tree: tree, identity: identity)
  }

  /// The checksum of a file's bytes, which differs under another name.
  private static func checksum(_ body: Bytes, _ name: String) -> UInt64 {
    XXHash64.hash(body, seed: XXHash64.hash(Bytes(name.utf8)))
  }
}
