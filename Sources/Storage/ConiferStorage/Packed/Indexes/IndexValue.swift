import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// Values as byte strings in the Realtime Database's order. No encoding is a prefix of another one.
///
/// A value that an index cannot hold completely is marked as cut: among equal cut values, only the
/// data shows the order.
/// The format is written out in Docs/Formats/Records.md.
enum IndexValue {
  /// The bytes of all strings of an entry together, at most.
  static let longestStrings = 120

  private enum Tag {
    static let null: UInt8 = 0x10
    static let serverValue: UInt8 = 0x18
    static let `false`: UInt8 = 0x20
    static let `true`: UInt8 = 0x21
    static let number: UInt8 = 0x30
    static let string: UInt8 = 0x40
    static let interior: UInt8 = 0x50
  }

  private static let end: UInt8 = 0x00
  private static let escape: UInt8 = 0x01
  /// After the escape, in place of the terminator of a string that is cut.
  private static let cut: UInt8 = 0x03

  /// The value by which a child is sorted.
  enum Content {
    case null
    case leaf(Leaf)
    case interior

    init(_ node: Node) {
      if let leaf = node.leaf {
        self = .leaf(leaf)
      } else {
        self = node.isEmpty ? .null : .interior
      }
    }
  }

  /// Appends a value.
  ///
  /// - Parameters:
  ///   - isDescending: whether larger values come first: all bytes are inverted.
  ///   - longest: how many bytes of a string are held.
  static func append(
    _ content: Content, isDescending: Bool, longest: Int, to bytes: inout Bytes
  ) {
    let start = bytes.count
    switch content {
    case .null: bytes.append(Tag.null)
    case .interior: bytes.append(Tag.interior)
    case .leaf(.serverValue): bytes.append(Tag.serverValue)
    case .leaf(.bool(let flag)): bytes.append(flag ? Tag.true : Tag.false)
    case .leaf(.string(let text)): appendString(text, longest, to: &bytes)
    case .leaf(let leaf):
      bytes.append(Tag.number)
      let bits = bits(leaf.number ?? .nan)
      for shift in stride(from: 56 as UInt64, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: bits >> shift))
      }
    }
    if isDescending { for index in start..<bytes.count { bytes[index] = ~bytes[index] } }
  }

  /// A double as a number whose unsigned order is the order of doubles: NaN, which sorts first, is 0.
  private static func bits(_ value: Double) -> UInt64 {
    if value.isNaN { return 0 }
    let bits = (value == 0 ? 0.0 : value).bitPattern
    return bits >> 63 == 0 ? bits | 1 << 63 : ~bits
  }

  private static func appendString(_ text: String, _ longest: Int, to bytes: inout Bytes) {
    bytes.append(Tag.string)
    let limit = bytes.count + longest
    for byte in text.utf8 {
      let width = byte <= escape ? 2 : 1
      guard bytes.count + width <= limit else {
        bytes.append(escape)
        bytes.append(cut)
        return
      }
      switch byte {
      case 0, 1:
        bytes.append(escape)
        bytes.append(byte + 1)
      // As in path keys: byte order becomes the order of UTF-16 code units.
      case 0xF0...: bytes.append(byte - 2)
      case 0xEE, 0xEF: bytes.append(byte + 5)
      default: bytes.append(byte)
      }
    }
    bytes.append(end)
  }

  /// The end of the value that begins at an offset, and whether it was cut; nil when the bytes are
  /// invalid.
  static func end(
    _ bytes: Bytes, _ start: Int, isDescending: Bool
  ) -> (end: Int, isCut: Bool)? {
    let mask: UInt8 = isDescending ? 0xFF : 0
    guard start < bytes.count else { return nil }
    switch bytes[start] ^ mask {
    case Tag.null, Tag.false, Tag.true, Tag.interior: return (start + 1, false)
    case Tag.serverValue: return (start + 1, true)
    case Tag.number: return start + 9 <= bytes.count ? (start + 9, false) : nil
    case Tag.string:
      var at = start + 1
      while at < bytes.count {
        switch bytes[at] ^ mask {
        case end: return (at + 1, false)
        case escape:
          guard at + 1 < bytes.count else { return nil }
          if bytes[at + 1] ^ mask == cut { return (at + 2, true) }
          at += 2
        default: at += 1
        }
      }
      return nil
    default: return nil
    }
  }
}
