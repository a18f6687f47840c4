import ConiferKeyValue
import ConiferTree

/// Leaves as tagged bytes; the tags are part of the format, and some wait for documents.
enum LeafCodec {
  enum Tag {
    static let null: UInt8 = 0  // reserved
    static let `false`: UInt8 = 1
    static let `true`: UInt8 = 2
    static let integer: UInt8 = 3
    static let double: UInt8 = 4
    static let string: UInt8 = 5
    static let timestampPlaceholder: UInt8 = 6
    static let incrementInteger: UInt8 = 7
    static let incrementDouble: UInt8 = 8
    static let otherPlaceholder: UInt8 = 9
    // Reserved for documents: 16 timestamp, 17 bytes, 18 geopoint, 19 reference, 20 array,
    // 21 empty map, 22 NaN.
    /// A leaf that is stored in parts of its own: its number, then its length in bytes.
    static let external: UInt8 = 32
    /// Set in a tag when a priority follows the value.
    static let priorityFlag: UInt8 = 0x80
  }

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

  /// A leaf that stands alone in the bytes, or where it is stored.
  enum Decoded {
    case leaf(Leaf, Priority?)
    case external(number: UInt64, count: Int, Priority?)
  }

  /// What bytes made by `encode` hold, or nil when they are none.
  static func decode(_ bytes: Bytes) -> Decoded? {
    var reader = ByteReader(bytes)
    guard let decoded = decode(&reader), reader.isAtEnd else { return nil }
    return decoded
  }

  @inline(__always)
  static func decode<Stream: LeafStream>(_ reader: inout Stream) -> Decoded? {
    guard let tag = reader.byte() else { return nil }
    if tag & ~Tag.priorityFlag == Tag.external {
      guard let number = reader.varint(), let count = reader.size() else { return nil }
      guard tag & Tag.priorityFlag != 0 else { return .external(number: number, count: count, nil) }
      guard let priority = priority(&reader) else { return nil }
      return .external(number: number, count: count, priority)
    }
    guard let leaf = reader.leaf(tag & ~Tag.priorityFlag) else { return nil }
    guard tag & Tag.priorityFlag != 0 else { return .leaf(leaf, nil) }
    guard let priority = priority(&reader) else { return nil }
    return .leaf(leaf, priority)
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

  /// The bytes of a value that is stored elsewhere, with the priority of the leaf they stand for.
  static func encodeExternal(number: UInt64, count: Int, _ priority: Priority?) -> Bytes {
    var writer = ByteWriter()
    writer.byte(Tag.external | (priority == nil ? 0 : Tag.priorityFlag))
    writer.varint(number)
    writer.varint(count)
    if let priority { append(priority.leaf, nil, to: &writer) }
    return writer.bytes
  }
}
