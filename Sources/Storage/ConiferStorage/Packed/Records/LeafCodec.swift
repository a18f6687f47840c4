import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Leaves of the Realtime Database's tree as tagged bytes.
enum LeafCodec {
  typealias Tag = ValueTag

  /// A leaf with its priority as bytes.
  static func encode(_ leaf: Leaf, _ priority: Priority?) -> Bytes {
    var writer = ByteWriter()
    append(leaf, priority, to: &writer)
    return writer.bytes
  }

  static func append(_ leaf: Leaf, _ priority: Priority?, to writer: inout ByteWriter) {
    append(leaf, flag: priority == nil ? 0 : Tag.priorityFlag, to: &writer)
    if let priority { append(priority.leaf, flag: 0, to: &writer) }
  }

  private static func append(_ leaf: Leaf, flag: UInt8, to writer: inout ByteWriter) {
    switch leaf {
    case .bool(let value): writer.byte((value ? Tag.true : Tag.false) | flag)
    case .integer(let value):
      writer.byte(Tag.integer | flag)
      writer.zigzag(value)
    case .double(let value):
      writer.byte(Tag.double | flag)
      writer.littleEndian(value.bitPattern)
    case .string(let value):
      writer.byte(Tag.string | flag)
      writer.sized(value)
    case .serverValue(let value): append(value, flag, to: &writer)
    }
  }

  private static func append(_ value: ServerValue, _ flag: UInt8, to writer: inout ByteWriter) {
    switch value {
    case .timestamp: writer.byte(Tag.timestampPlaceholder | flag)
    case .increment(.integer(let delta)):
      writer.byte(Tag.incrementInteger | flag)
      writer.zigzag(delta)
    case .increment(let delta):
      writer.byte(Tag.incrementDouble | flag)
      writer.littleEndian((delta.number ?? 0).bitPattern)
    case .other(let name):
      writer.byte(Tag.otherPlaceholder | flag)
      writer.sized(name)
    }
  }

  /// The leaf that bytes encode, or a reference to its chunks.
  enum Decoded {
    case leaf(Leaf, Priority?)
    case largeLeaf(LargeLeafReference, Priority?)
  }

  /// Decodes bytes that `encode` made; nil when they are invalid.
  static func decode(_ bytes: Bytes) -> Decoded? { bytes.withUnsafeBytes { decode($0) } }

  /// Decodes lent bytes; nil when they are invalid.
  static func decode(_ bytes: UnsafeRawBufferPointer) -> Decoded? {
    var reader = LentReader(bytes)
    guard let decoded = decode(&reader), reader.remaining == 0 else { return nil }
    return decoded
  }

  /// Decodes the next leaf of a stream; nil also for a reference to chunks.
  static func leaf<Stream: LeafStream>(_ reader: inout Stream) -> (Leaf, Priority?)? {
    guard let tag = reader.byte(), let leaf = reader.leaf(tag & ~Tag.priorityFlag) else {
      return nil
    }
    guard tag & Tag.priorityFlag != 0 else { return (leaf, nil) }
    return priority(&reader).map { (leaf, $0) }
  }

  @inline(__always)
  private static func decode(_ reader: inout LentReader) -> Decoded? {
    guard let tag = reader.byte() else { return nil }
    if tag & ~Tag.priorityFlag == Tag.largeLeaf {
      guard let number = reader.varint(), let count = reader.size(),
        let rest = reader.take(reader.remaining), rest.isEmpty == (tag & Tag.priorityFlag == 0)
      else { return nil }
      let reference = LargeLeafReference(number: number, count: count, rest: Bytes(rest))
      if rest.isEmpty { return .largeLeaf(reference, nil) }
      var following = LentReader(rest)
      guard let priority = priority(&following), following.remaining == 0 else { return nil }
      return .largeLeaf(reference, priority)
    }
    guard let leaf = reader.leaf(tag & ~Tag.priorityFlag) else { return nil }
    guard tag & Tag.priorityFlag != 0 else { return .leaf(leaf, nil) }
    return priority(&reader).map { .leaf(leaf, $0) }
  }

  private static func priority<Stream: LeafStream>(_ reader: inout Stream) -> Priority? {
    guard let tag = reader.byte(), let leaf = reader.leaf(tag) else { return nil }
    return Priority(leaf)
  }

  /// The size, by the estimate of `Node.estimatedSize`, of a leaf without priority that is no server
  /// value; nil for any other value.
  static func plainSize(_ value: UnsafeRawBufferPointer) -> Int? {
    var reader = LentReader(value)
    switch reader.byte() {
    case Tag.false, Tag.true: return 4
    case Tag.integer, Tag.double: return 8
    case Tag.string: return reader.size().map { $0 + 2 }
    default: return nil
    }
  }
}

/// Leaves of the tree in lists of entries.
extension EntryList {
  /// Appends a leaf, as a reference to chunks when it is large.
  mutating func append(_ key: Bytes, _ leaf: Leaf, _ priority: Priority?) {
    if append(key, { LeafCodec.append(leaf, priority, to: &$0) }) { return }
    append(LeafCodec.entry(key, leaf, priority))
  }

  /// The leaf of an entry, or nil when its value is damaged.
  func leaf(_ index: Int) -> LeafCodec.Decoded? { withValue(index) { LeafCodec.decode($0) } }
}

extension EntryList.Lent {
  /// The leaf of an entry, or nil when its value is damaged.
  func leaf(_ index: Int) -> LeafCodec.Decoded? { LeafCodec.decode(value(index)) }
}

extension LeafCodec {
  /// The entry of a leaf, which refers to chunks when the leaf is large; a commit gives them their number.
  static func entry(_ key: Bytes, _ leaf: Leaf, _ priority: Priority?) -> Entry {
    let value = encode(leaf, priority)
    guard value.count > LargeLeaf.threshold else { return Entry(key: key, value: value) }
    // The leaf's size alone decides, so that adding or removing a priority does not move the leaf
    // into chunks or back.
    let content = priority == nil ? value : encode(leaf, nil)
    guard content.count > LargeLeaf.threshold else { return Entry(key: key, value: value) }
    let reference = LargeLeafReference(
      number: 0, count: content.count, rest: priority.map { encode($0.leaf, nil) } ?? [])
    return Entry(key: key, value: reference.value, content: content)
  }
}

/// The source of the bytes after leaves' tags: one stream of bytes, or the columns of a run.
protocol LeafSource {
  mutating func zigzag() -> Int64?
  mutating func double() -> Double?
  mutating func text() -> String?
}

/// One stream of bytes, in which a leaf's tag comes before its bytes.
protocol LeafStream: LeafSource {
  mutating func byte() -> UInt8?
  mutating func varint() -> UInt64?
  mutating func size() -> Int?
}

extension LeafSource {
  /// The leaf of a tag without its priority flag, or nil when there is none.
  @inline(__always)
  mutating func leaf(_ tag: UInt8) -> Leaf? {
    switch tag {
    case LeafCodec.Tag.false: return .bool(false)
    case LeafCodec.Tag.true: return .bool(true)
    case LeafCodec.Tag.integer: return zigzag().map { .integer($0) }
    case LeafCodec.Tag.double: return double().map { .double($0) }
    case LeafCodec.Tag.string: return text().map { .string($0) }
    case LeafCodec.Tag.timestampPlaceholder: return .serverValue(.timestamp)
    case LeafCodec.Tag.incrementInteger:
      return zigzag().map { .serverValue(.increment(.integer($0))) }
    case LeafCodec.Tag.incrementDouble:
      return double().map { .serverValue(.increment(.double($0))) }
    case LeafCodec.Tag.otherPlaceholder: return text().map { .serverValue(.other(name: $0)) }
    default: return nil
    }
  }
}

extension ByteReader: LeafStream {}

extension LentReader: LeafStream {}

extension RunReader {
  /// A leaf that is stored in chunks.
  ///
  /// - Parameter run: the store's key of the run that refers to them.
  /// - Throws: `damaged`, with the run's key.
  func leaf(
    _ reference: LargeLeafReference, in run: @autoclosure () throws(StoreError) -> Bytes
  ) throws(StoreError) -> Leaf {
    let content = try largeLeaf(reference, in: try run())
    guard case .leaf(let leaf, _) = LeafCodec.decode(content) else {
      throw Damage.error(Spaces.runs, try run())
    }
    return leaf
  }
}
