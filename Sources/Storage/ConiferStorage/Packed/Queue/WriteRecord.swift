import ConiferKeyValue
import ConiferTree

/// A queued write as bytes: a small record, and its content inside or, when large, in parts.
///
/// Record: version 1, state, reason of a rejection, attempts, then 0, method, bytes before
/// compression and the content, or 1 and the content's length.
enum WriteRecord {
  private static let version: UInt8 = 1
  /// Content above this is stored in parts, so that a change of state stays small and that stores
  /// which are slow with large rows keep small ones.
  static let inlineLimit = 4 << 10
  static let partSize = 256 << 10
  /// Content below this is kept as it is: whoever queues it waits, and a text of a few words shrinks by
  /// a tenth of the record.
  static let smallestPacked = 512

  enum Body {
    case inline(WriteContent)
    case parts(count: Int)
  }

  static func head(_ write: QueuedWrite) -> ByteWriter {
    var writer = ByteWriter()
    writer.byte(version)
    switch write.state {
    case .queued: writer.byte(0)
    case .sent: writer.byte(1)
    case .outcomeUnknown: writer.byte(2)
    case .rejected(let reason):
      writer.byte(3)
      writer.sized(reason)
    }
    writer.varint(UInt64(write.attempts))
    return writer
  }

  static func content(_ content: WriteContent) -> Bytes {
    var writer = ByteWriter()
    writer.byte(content.kind.rawValue)
    NodeCodec.append(content.path, to: &writer)
    writer.varint(content.changes.count)
    for change in content.changes {
      NodeCodec.append(change.path, to: &writer)
      NodeCodec.append(change.node, to: &writer)
    }
    writer.varint(content.preconditions.count)
    for condition in content.preconditions {
      NodeCodec.append(condition.path, to: &writer)
      writer.sized(condition.hash)
    }
    writer.sized(content.idempotencyID)
    writer.zigzag(content.time)
    return writer.bytes
  }

  static func content(_ bytes: Bytes) -> WriteContent? {
    var reader = ByteReader(bytes)
    guard let byte = reader.byte(), let kind = WriteContent.Kind(rawValue: byte),
      let path = NodeCodec.path(&reader), let count = reader.size()
    else { return nil }
    var changes: [WriteContent.Change] = []
    for _ in 0..<count {
      guard let path = NodeCodec.path(&reader), let node = NodeCodec.node(&reader) else {
        return nil
      }
      changes.append(WriteContent.Change(path, node))
    }
    guard let conditions = reader.size() else { return nil }
    var preconditions: [WriteContent.Precondition] = []
    for _ in 0..<conditions {
      guard let path = NodeCodec.path(&reader), let hash = reader.text() else { return nil }
      preconditions.append(WriteContent.Precondition(path: path, hash: hash))
    }
    guard let idempotencyID = reader.sized(), let time = reader.zigzag() else { return nil }
    return WriteContent(
      kind: kind, path: path, changes: changes, preconditions: preconditions,
      idempotencyID: idempotencyID, time: time)
  }

  /// The state and the attempts of a record, with its content or where that is; nil for bytes that
  /// are no record.
  ///
  /// - Throws: `newerFormat`, `unsupported`.
  static func read(_ payload: Bytes, _ codec: Codec) throws(StoreError) -> (
    state: WriteState, attempts: UInt32, body: Body
  )? {
    var reader = ByteReader(payload)
    guard let version = reader.byte(), version > 0 else { return nil }
    // Not damaged, so it must not be set aside.
    guard version == Self.version else {
      throw StoreError(
        .newerFormat,
        "A queued write has format \(version), and this version of Conifer knows up to "
          + "\(Self.version): open the store with a newer one. Nothing was changed.")
    }
    guard let code = reader.byte() else { return nil }
    let state: WriteState
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
    let tries = UInt32(clamping: attempts)
    if place == 1 {
      guard let count = reader.size() else { return nil }
      return (state, tries, .parts(count: count))
    }
    guard let method = reader.byte(), let rawCount = reader.size(),
      let packed = reader.take(reader.remaining),
      let body = try codec.unpack(Codec.method(method), packed, rawCount: rawCount),
      let content = content(body)
    else { return nil }
    return (state, tries, .inline(content))
  }
}
