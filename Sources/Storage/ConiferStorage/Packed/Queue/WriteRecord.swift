import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// A queued write as bytes: a small record, and its content inside or, when large, in parts.
///
/// Record: version, state, reason of a rejection, attempts, then 0, method, bytes before compression
/// and the content, or 1 and the content's length. Content of version 1 is a write to a tree, which
/// tells its paths itself; that of version 2 is the kind, the path, the touched paths, and bytes that
/// only the kind's model reads.
struct WriteRecord {
  private static let treeVersion: UInt8 = 1
  private static let newestVersion: UInt8 = 2
  /// Content above this is stored in parts, so that a change of state stays small and that stores
  /// which are slow with large rows keep small ones.
  static let inlineLimit = 4 << 10
  static let partSize = 256 << 10
  /// Shorter content is not compressed: the caller waits for it, and a text of a few words shrinks
  /// by only a tenth of the record.
  static let smallestPacked = 512

  enum Body {
    case inline(Bytes)
    case parts(count: Int)
  }

  let version: UInt8
  let state: WriteState
  let attempts: UInt32
  let body: Body

  /// What a record holds; nil for bytes that are no record.
  ///
  /// - Throws: `newerFormat`, `unsupported`.
  init?(_ payload: Bytes, _ codec: Codec) throws(StoreError) {
    var reader = ByteReader(payload)
    guard let version = reader.byte(), version > 0 else { return nil }
    // A record of a later version is not damaged, so it must not be set aside.
    guard version <= Self.newestVersion else {
      throw StoreError(
        .newerFormat,
        "A queued write has format \(version), and this version of Conifer knows up to "
          + "\(Self.newestVersion): open the store with a newer one. Nothing was changed.")
    }
    self.version = version
    guard let code = reader.byte() else { return nil }
    switch code {
    case 0: state = .queued
    case 1: state = .sent
    case 2: state = .outcomeUnknown
    case 3:
      guard let reason = reader.text() else { return nil }
      state = .rejected(reason: reason)
    default: return nil
    }
    guard let attempts = reader.varint(), let place = reader.byte() else { return nil }
    self.attempts = UInt32(clamping: attempts)
    if place == 1 {
      guard let count = reader.size() else { return nil }
      body = .parts(count: count)
      return
    }
    guard let method = reader.byte(), let rawCount = reader.size(),
      let packed = reader.take(reader.remaining),
      let content = try codec.unpack(Codec.method(method), packed, rawCount: rawCount)
    else { return nil }
    body = .inline(content)
  }

  /// The bytes of a record before its content.
  static func head(_ entry: QueueEntry) -> ByteWriter {
    var writer = ByteWriter()
    writer.byte(entry.payload.kind == .tree ? treeVersion : newestVersion)
    switch entry.state {
    case .queued: writer.byte(0)
    case .sent: writer.byte(1)
    case .outcomeUnknown: writer.byte(2)
    case .rejected(let reason):
      writer.byte(3)
      writer.sized(reason)
    }
    writer.varint(UInt64(entry.attempts))
    return writer
  }

  static func content(_ payload: WritePayload) -> Bytes {
    guard payload.kind != .tree else { return payload.bytes }
    var writer = ByteWriter()
    writer.byte(payload.kind.rawValue)
    NodeCodec.append(payload.path, to: &writer)
    writer.varint(payload.touches.count)
    for path in payload.touches { NodeCodec.append(path, to: &writer) }
    writer.append(payload.bytes)
    return writer.bytes
  }

  /// The payload that content encodes; nil when it is invalid.
  static func payload(_ content: Bytes, _ version: UInt8) -> WritePayload? {
    guard version != treeVersion else { return WriteContent.payload(content) }
    var reader = ByteReader(content)
    guard let kind = reader.byte().map(WritePayload.Kind.init), kind.rawValue > 0, kind != .tree,
      let path = NodeCodec.path(&reader), let count = reader.size()
    else { return nil }
    var touches: [Path] = []
    for _ in 0..<count {
      guard let path = NodeCodec.path(&reader) else { return nil }
      touches.append(path)
    }
    guard let bytes = reader.take(reader.remaining) else { return nil }
    return WritePayload(kind: kind, path: path, touches: touches, bytes: bytes)
  }
}
