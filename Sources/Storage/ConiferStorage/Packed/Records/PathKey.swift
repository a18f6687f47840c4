import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Paths as byte strings whose order is the tree's order. Only an ancestor's bytes are a prefix of
/// a path's bytes.
///
/// A segment that the Realtime Database takes for a 32-bit integer comes first, as a length-marked
/// big-endian number. Any other segment is its UTF-8, with lead bytes mapped so that byte order is
/// UTF-16 order, and a terminating zero; a zero within it is written 01 01 and a one 01 02. So a
/// zero is always the end of a segment, and no sibling's bytes begin with another's. The format is
/// written out in Docs/Formats/Records.md.
enum PathKey {
  /// After the key of an interior node: the row of its priority, before all its children.
  static let priorityMark: UInt8 = 0x02
  /// Above every byte that begins a child's segment.
  static let endMark: UInt8 = 0xFF
  /// The smallest byte that begins a child's segment.
  static let firstChildMark: UInt8 = 0x10

  private static let integerMark: UInt8 = 0x14
  private static let lowStringMark: UInt8 = 0x1F
  /// The escape before a zero or a one within a segment; each of them is increased by one.
  private static let escape: UInt8 = 0x01

  /// The bytes of a path.
  static func encode(_ path: Path, _ order: KeyOrder) -> Bytes {
    var bytes = Bytes()
    bytes.reserveCapacity(path.keys.reduce(8) { $0 + $1.utf8Count + 2 })
    for key in path.keys { append(key, order, to: &bytes) }
    return bytes
  }

  /// Appends the bytes of one segment.
  static func append(_ key: Key, _ order: KeyOrder, to bytes: inout Bytes) {
    if order == .realtimeDatabase, let integer = key.integer {
      appendInteger(integer, key, to: &bytes)
    } else {
      key.withUTF8 { append(text: $0, order, to: &bytes) }
    }
  }

  private static func appendInteger(_ value: Int32, _ key: Key, to bytes: inout Bytes) {
    let magnitude = value.magnitude
    let count = (39 - magnitude.leadingZeroBitCount) / 8
    let isNegative = value < 0
    bytes.append(isNegative ? integerMark - UInt8(count) : integerMark + UInt8(count))
    for index in stride(from: count - 1, through: 0, by: -1) {
      let byte = UInt8(truncatingIfNeeded: magnitude >> UInt32(index * 8))
      bytes.append(isNegative ? ~byte : byte)
    }
    // Leading zeros beyond the shortest spelling: "7", "07", "007" in this order.
    let extra = key.withUTF8(\.count) - digits(magnitude) - (isNegative ? 1 : 0)
    if extra < 0xFE {
      bytes.append(UInt8(extra))
    } else {
      bytes.append(0xFE)
      for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: extra >> shift)) }
    }
    // "-0" and "00" are as long and as large.
    if value == 0, extra > 0 {
      bytes.append(key.withUTF8 { $0.first == UInt8(ascii: "-") } ? 0 : 1)
    }
  }

  private static func digits(_ value: UInt32) -> Int {
    var count = 1
    var rest = value
    while rest >= 10 {
      rest /= 10
      count += 1
    }
    return count
  }

  /// Appends the bytes of a segment that is no integer.
  static func append(
    text utf8: UnsafeBufferPointer<UInt8>, _ order: KeyOrder, to bytes: inout Bytes
  ) {
    if (utf8.first ?? 0) < 0x20 { bytes.append(lowStringMark) }
    guard !isPlain(UnsafeRawBufferPointer(utf8)) else {
      bytes.append(contentsOf: utf8)
      bytes.append(0)
      return
    }
    for byte in utf8 {
      if byte <= 1 {
        bytes.append(escape)
        bytes.append(byte + 1)
      } else if byte >= 0xEE, order == .realtimeDatabase {
        bytes.append(byte >= 0xF0 ? byte - 2 : byte + 5)
      } else {
        bytes.append(byte)
      }
    }
    bytes.append(0)
  }

  /// Whether a text is encoded as it is: it has no byte 0, 1, or from EE on.
  private static func isPlain(_ bytes: UnsafeRawBufferPointer) -> Bool {
    // All bytes are tested, without an early exit, so that many are tested at a time.
    var isPlain = true
    for byte in bytes where byte &- 2 >= 0xEC { isPlain = false }
    return isPlain
  }

  /// Where the segment that begins at an offset ends, or nil when the bytes are no segment.
  static func segmentEnd(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Int? {
    guard start < bytes.count else { return nil }
    let mark = bytes[start]
    if mark >= 0x10, mark <= 0x18 {
      let count = mark >= integerMark ? Int(mark - integerMark) : Int(integerMark - mark)
      var at = start + 1 + count
      guard at < bytes.count else { return nil }
      let isPadded = bytes[at] > 0
      at += bytes[at] == 0xFE ? 5 : 1
      if count == 0, isPadded { at += 1 }
      return at <= bytes.count ? at : nil
    }
    guard mark >= lowStringMark else { return nil }
    var at = mark == lowStringMark ? start + 1 : start
    while at < bytes.count {
      if bytes[at] == 0 { return at + 1 }
      at += 1
    }
    return nil
  }

  /// The key of the segment in a range, or nil when the bytes are no segment.
  static func key(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, _ order: KeyOrder) -> Key? {
    guard range.upperBound <= bytes.count, let mark = range.isEmpty ? nil : bytes[range.lowerBound]
    else { return nil }
    if mark >= 0x10, mark <= 0x18 { return integerKey(bytes, range, mark) }
    var at = mark == lowStringMark ? range.lowerBound + 1 : range.lowerBound
    let end = range.upperBound - 1
    guard at <= end else { return nil }
    let slice = UnsafeRawBufferPointer(rebasing: bytes[at..<end])
    if isPlain(slice) { return Key(utf8: slice) }
    var utf8 = Bytes()
    while at < end {
      let byte = bytes[at]
      if byte == escape {
        guard at + 1 < end, bytes[at + 1] == 1 || bytes[at + 1] == 2 else { return nil }
        utf8.append(bytes[at + 1] - 1)
        at += 2
        continue
      }
      if byte >= 0xEE, order == .realtimeDatabase {
        utf8.append(byte >= 0xF3 ? byte - 5 : byte + 2)
      } else {
        utf8.append(byte)
      }
      at += 1
    }
    return Key(String(decoding: utf8, as: UTF8.self))
  }

  private static func integerKey(
    _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, _ mark: UInt8
  ) -> Key? {
    let isNegative = mark < integerMark
    let count = isNegative ? Int(integerMark - mark) : Int(mark - integerMark)
    var at = range.lowerBound + 1
    guard at + count < range.upperBound else { return nil }
    var magnitude: UInt32 = 0
    for _ in 0..<count {
      magnitude = magnitude << 8 | UInt32(isNegative ? ~bytes[at] : bytes[at])
      at += 1
    }
    var extra = Int(bytes[at])
    at += 1
    if extra == 0xFE {
      guard at + 4 <= range.upperBound else { return nil }
      extra = bytes[at..<(at + 4)].reduce(0) { $0 << 8 | Int($1) }
      at += 4
    }
    var hasSign = isNegative
    if count == 0, extra > 0 {
      guard at < range.upperBound else { return nil }
      hasSign = bytes[at] == 0
    }
    // The sign of "-0" counts as an extra character.
    let zeros = extra - (hasSign && !isNegative ? 1 : 0)
    guard zeros >= 0 else { return nil }
    return Key((hasSign ? "-" : "") + String(repeating: "0", count: zeros) + String(magnitude))
  }

  /// Whether bytes are the key of an interior node's priority, or the end of one from a segment on.
  static func isPriority(_ bytes: Bytes) -> Bool {
    guard bytes.last == priorityMark else { return false }
    return bytes.withUnsafeBytes { buffer in
      var at = 0
      while at < buffer.count {
        if at + 1 == buffer.count { return buffer[at] == priorityMark }
        guard let end = segmentEnd(buffer, at) else { return false }
        at = end
      }
      return false
    }
  }

  /// Whether the bytes are those that an order produces for a path, with or without a priority
  /// mark.
  static func isWritten(_ bytes: Bytes, in order: KeyOrder) -> Bool {
    guard let path = path(bytes, order) else { return false }
    let written = encode(path, order)
    return written == bytes || written + [priorityMark] == bytes
  }

  /// The path of a key without its priority mark, or nil when the bytes are no path.
  static func path(_ bytes: Bytes, _ order: KeyOrder) -> Path? {
    bytes.withUnsafeBytes { buffer in
      var keys: [Key] = []
      var at = 0
      while at < buffer.count {
        if buffer[at] == priorityMark, at + 1 == buffer.count { break }
        guard let end = segmentEnd(buffer, at), let key = key(buffer, at..<end, order) else {
          return nil
        }
        keys.append(key)
        at = end
      }
      return Path(keys)
    }
  }
}
