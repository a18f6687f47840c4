/// One segment of a path, which is the name of a child.
///
/// Two keys are equal when their UTF-8 bytes are; their order is the Realtime Database's.
public struct Key: Sendable {
  /// The key's text, exactly as given.
  public let string: String

  /// The beginning of the key's place in the order: keys whose places differ are in that order,
  /// others must be compared in full.
  ///
  /// An integer's value, made unsigned; for others the highest bit and 63 bits of the text.
  @usableFromInline
  let place: UInt64

  private static let textBit: UInt64 = 1 << 63

  /// A key that is not checked: what a server sends or a store holds.
  ///
  /// - Parameter string: the key's text.
  public init(_ string: String) {
    var native = string
    native.makeContiguousUTF8()
    self.string = native
    self.place = native.lendUTF8 { Key.parse($0).map(Key.place) ?? Key.place($0) }
  }

  /// The key of UTF-8 bytes, which are lent.
  ///
  /// - Parameter utf8: the key's text; what is no UTF-8 is replaced, as `String(decoding:as:)` does.
  package init(utf8: UnsafeRawBufferPointer) {
    self.string = String(decoding: utf8, as: UTF8.self)
    self.place = utf8.withMemoryRebound(to: UInt8.self) {
      // Most keys do not begin with a digit or a sign, so the first byte shows that they are not
      // integers.
      guard let first = $0.first, first &- 0x30 < 10 || first == UInt8(ascii: "-") else {
        return Key.place($0)
      }
      return Key.parse($0).map(Key.place) ?? Key.place($0)
    }
  }

  /// The key of an array element.
  ///
  /// - Parameter integer: the index.
  public init(_ integer: Int) {
    self.string = String(integer)
    self.place =
      Int32(exactly: integer).map(Key.place) ?? string.lendUTF8 { Key.place($0) }
  }

  /// The value of an integer-like key: `-?[0-9]+` within 32 bits, leading zeros allowed.
  public var integer: Int32? {
    isInteger ? Int32(truncatingIfNeeded: Int64(place) + Int64(Int32.min)) : nil
  }

  private var isInteger: Bool { place < Key.textBit }

  /// The pseudo child key of a node's priority.
  public static let priority = Key(".priority")
  /// The first segment of the client's own, unwritable branch.
  public static let info = Key(".info")

  /// Whether this is the pseudo child `.priority`.
  public var isPriority: Bool {
    // The place of ".priorit"; the rest is compared when that fits.
    guard place == 0x2E70_7269_6F72_6974 >> 1 | Key.textBit else { return false }
    return string.hasSameUnits(as: ".priority")
  }

  /// Lends the key's UTF-8 bytes without a copy.
  ///
  /// - Parameter body: reads the bytes; they are valid only during the call.
  /// - Returns: what the body returns.
  @inlinable
  public func withUTF8<R>(_ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
    string.lendUTF8(body)
  }

  /// The length in UTF-8 bytes.
  public var utf8Count: Int { string.utf8.count }

  private static func place(_ integer: Int32) -> UInt64 {
    UInt64(Int64(integer) - Int64(Int32.min))
  }

  private static func place(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt64 {
    var place: UInt64 = 0
    for i in 0..<min(8, bytes.count) {
      place |= UInt64(utf16Weight(bytes[i])) << UInt64(56 - 8 * i)
    }
    return place >> 1 | textBit
  }

  private static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> Int32? {
    let negative = bytes.first == UInt8(ascii: "-")
    var i = negative ? 1 : 0
    guard i < bytes.count else { return nil }
    var value: Int64 = 0
    while i < bytes.count {
      let digit = bytes[i] &- 0x30
      guard digit < 10 else { return nil }
      value = value * 10 + Int64(digit)
      guard value <= 1 << 31 else { return nil }
      i += 1
    }
    return Int32(exactly: negative ? -value : value)
  }
}

extension Key: Hashable, Comparable {
  /// Whether the UTF-8 bytes are the same.
  public static func == (a: Key, b: Key) -> Bool {
    a.place == b.place && a.string.hasSameUnits(as: b.string)
  }

  /// Feeds the UTF-8 bytes.
  public func hash(into hasher: inout Hasher) { string.hashUnits(into: &hasher) }

  /// Orders keys as the Realtime Database does.
  @inlinable
  public static func < (a: Key, b: Key) -> Bool {
    a.place == b.place ? compare(a, b) < 0 : a.place < b.place
  }

  /// Orders two keys: negative, zero or positive.
  ///
  /// Integer-like keys come first, numerically; of equal numbers the shorter text comes first.
  /// Others follow by UTF-16 code units, as the Realtime Database orders keys.
  public static func compare(_ a: Key, _ b: Key) -> Int {
    if a.place != b.place { return a.place < b.place ? -1 : 1 }
    if a.isInteger, a.utf8Count != b.utf8Count { return a.utf8Count - b.utf8Count }
    return a.string.compareUnits(b.string)
  }
}

extension Key: CustomStringConvertible, ExpressibleByStringLiteral {
  /// The key's text.
  public var description: String { string }

  /// A key that is not checked.
  public init(stringLiteral value: String) { self.init(value) }
}
