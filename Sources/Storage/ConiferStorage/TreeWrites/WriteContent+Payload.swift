import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// The bytes of a write to a tree: kind, path, changes, preconditions, idempotency id, time.
///
/// They are the whole content of a queue record of version 1, which names its paths nowhere else.
extension WriteContent {
  /// The write as the queue keeps it.
  public var payload: WritePayload {
    var writer = ByteWriter()
    writer.byte(kind.rawValue)
    NodeCodec.append(path, to: &writer)
    writer.varint(changes.count)
    for change in changes {
      NodeCodec.append(change.path, to: &writer)
      NodeCodec.append(change.node, to: &writer)
    }
    writer.varint(preconditions.count)
    for condition in preconditions {
      NodeCodec.append(condition.path, to: &writer)
      writer.sized(condition.hash)
    }
    writer.sized(idempotencyID)
    writer.zigzag(time)
    return WritePayload(
      kind: .tree, path: path, touches: changes.map(\.path), bytes: writer.bytes)
  }

  /// The write to a tree that a payload holds; nil when it is of another kind, or has something that
  /// this version does not read.
  public init?(_ payload: WritePayload) {
    guard payload.kind == .tree else { return nil }
    var reader = ByteReader(payload.bytes)
    guard let kind = reader.byte().flatMap(Kind.init), reader.skipPath(),
      let count = reader.size(), count == payload.touches.count
    else { return nil }
    var changes: [Change] = []
    changes.reserveCapacity(count)
    for path in payload.touches {
      guard reader.skipPath(), let node = NodeCodec.node(&reader) else { return nil }
      changes.append(Change(path, node))
    }
    guard let conditions = reader.size() else { return nil }
    var preconditions: [Precondition] = []
    for _ in 0..<conditions {
      guard let path = NodeCodec.path(&reader), let hash = reader.text() else { return nil }
      preconditions.append(Precondition(path: path, hash: hash))
    }
    guard let idempotencyID = reader.sized(), let time = reader.zigzag() else { return nil }
    self.init(
      kind: kind, path: payload.path, changes: changes, preconditions: preconditions,
      idempotencyID: idempotencyID, time: time)
  }

  /// The write whose bytes a payload had; nil when they are no write to a tree.
  package init?(bytes: [UInt8]) {
    guard let payload = Self.payload(bytes) else { return nil }
    self.init(payload)
  }

  /// The payload whose bytes these are, with the paths that they name; nil when they are no write to a
  /// tree. No node is built.
  static func payload(_ bytes: Bytes) -> WritePayload? {
    var reader = ByteReader(bytes)
    guard reader.byte().flatMap(Kind.init) != nil, let path = NodeCodec.path(&reader),
      let count = reader.size()
    else { return nil }
    var touches: [Path] = []
    for _ in 0..<count {
      guard let path = NodeCodec.path(&reader), reader.skipNode() else { return nil }
      touches.append(path)
    }
    guard let conditions = reader.size() else { return nil }
    for _ in 0..<conditions {
      guard reader.skipPath(), reader.text() != nil else { return nil }
    }
    guard let id = reader.size(), id <= 255, reader.skip(id) != nil, reader.zigzag() != nil else {
      return nil
    }
    return WritePayload(kind: .tree, path: path, touches: touches, bytes: bytes)
  }
}

/// Skipping checks the bytes like reading does: a write that cannot be decoded must be reported as
/// damaged when its record is read.
extension ByteReader {
  fileprivate mutating func skipPath() -> Bool {
    guard let count = size() else { return false }
    for _ in 0..<count where text() == nil { return false }
    return true
  }

  /// Passes over a node of `NodeCodec`.
  ///
  /// - Parameter depth: how many keys lead to it.
  fileprivate mutating func skipNode(depth: Int = 0) -> Bool {
    switch NodeCodec.Form(byte()) {
    case .empty: return true
    case .leaf: return LeafCodec.leaf(&self) != nil
    case .interior: return skipChildren(depth)
    case .interiorWithPriority:
      guard let (value, _) = LeafCodec.leaf(&self), Priority(value) != nil else { return false }
      return skipChildren(depth)
    case nil: return false
    }
  }

  private mutating func skipChildren(_ depth: Int) -> Bool {
    guard depth < NodeCodec.deepest, let count = size() else { return false }
    for _ in 0..<count {
      guard text() != nil, skipNode(depth: depth + 1) else { return false }
    }
    return true
  }
}
