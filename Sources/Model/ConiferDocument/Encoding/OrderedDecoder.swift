/// A decoder of what ``OrderedEncoder`` wrote, which reads paths back and finds where each encoding
/// ends.
public struct OrderedDecoder: Sendable {
  private let bytes: [UInt8]
  /// The offset of the next encoding.
  public private(set) var offset: Int

  /// A decoder.
  ///
  /// - Parameters:
  ///   - bytes: encodings, one after the other.
  ///   - offset: where the first one begins.
  public init(_ bytes: [UInt8], at offset: Int = 0) {
    self.bytes = bytes
    self.offset = offset
  }

  /// Whether nothing is left.
  public var isAtEnd: Bool { offset >= bytes.count }

  /// Reads the path of a document.
  ///
  /// - Parameter direction: the direction that it was written in.
  /// - Throws: `invalidEncoding` when the bytes are none.
  public mutating func path(_ direction: Direction = .ascending) throws(DocumentError)
    -> DocumentPath
  {
    let segments = try segments(mask(direction))
    guard segments.count % 2 == 0 else { throw damaged("a path") }
    return DocumentPath(unchecked: ResourcePath(unchecked: segments.joined(separator: "/")))
  }

  /// Reads the path of a collection.
  ///
  /// - Throws: `invalidEncoding` when the bytes are none.
  package mutating func collection() throws(DocumentError) -> CollectionPath {
    let segments = try segments(mask(.ascending))
    guard segments.count % 2 == 1 else { throw damaged("a collection's path") }
    return CollectionPath(unchecked: ResourcePath(unchecked: segments.joined(separator: "/")))
  }

  /// Reads the id of a document.
  ///
  /// - Parameter direction: the direction that it was written in.
  /// - Throws: `invalidEncoding` when the bytes are none.
  package mutating func id(_ direction: Direction = .ascending) throws(DocumentError) -> String {
    let mask = mask(direction)
    guard let id = try segment(try next(mask), mask) else { throw damaged("an id") }
    return id
  }

  private mutating func segments(_ mask: UInt8) throws(DocumentError) -> [String] {
    var segments: [String] = []
    while let segment = try segment(try next(mask), mask) { segments.append(segment) }
    guard !segments.isEmpty else { throw damaged("a path") }
    return segments
  }

  /// Reads the segment after its label; nil at the end of a path.
  private mutating func segment(
    _ label: UInt8, _ mask: UInt8
  ) throws(DocumentError) -> String? {
    switch label {
    case Label.end: return nil
    case Label.numericSegment:
      var biased: UInt64 = 0
      for _ in 0..<8 { biased = biased << 8 | UInt64(try next(mask)) }
      return NumericID.segment(of: Int64(bitPattern: biased ^ 1 << 63))
    case Label.segment:
      let utf8 = try text(mask)
      guard let segment = String(validating: utf8, as: UTF8.self), !utf8.isEmpty,
        !utf8.contains(UInt8(ascii: "/"))
      else { throw damaged("a segment") }
      return segment
    default: throw damaged("a path")
    }
  }

  /// Skips a value.
  ///
  /// - Parameter direction: the direction that it was written in.
  /// - Throws: `invalidEncoding` when the bytes are no value.
  public mutating func skipValue(_ direction: Direction = .ascending) throws(DocumentError) {
    let mask = mask(direction)
    // For each open array or map: whether it is a map, in which names precede the values.
    var open: [Bool] = []
    repeat {
      var label = try next(mask)
      if let isMap = open.last {
        if label == Label.end {
          open.removeLast()
          continue
        }
        if isMap {
          guard label == Label.name else { throw damaged("a map") }
          try skipText(mask)
          label = try next(mask)
        }
      }
      switch label {
      case Label.array: open.append(false)
      case Label.map: open.append(true)
      default: try skipScalar(label, mask)
      }
    } while !open.isEmpty
  }

  private mutating func skipScalar(_ label: UInt8, _ mask: UInt8) throws(DocumentError) {
    switch label {
    case Label.null, Label.false, Label.true: break
    case Label.nan, Label.negative, Label.zero, Label.positive: try skipNumber(label, mask)
    case Label.timestamp, Label.serverTimestamp: try skipGroups(mask)
    case Label.string, Label.bytes: try skipText(mask)
    case Label.reference:
      try skipText(mask)
      try skipText(mask)
      _ = try path(mask == 0 ? .ascending : .descending)
    case Label.geoPoint:
      for _ in 0..<2 { try skipNumber(next(mask), mask) }
    case Label.vector:
      var count: UInt64 = 0
      for _ in 0..<8 { count = count << 8 | UInt64(try next(mask)) }
      // Each number has at least one byte, so a forged count cannot cause a longer loop.
      for _ in 0..<min(count, UInt64(bytes.count)) { try skipNumber(next(mask), mask) }
    default: throw damaged("a value")
    }
  }

  private mutating func skipNumber(_ label: UInt8, _ mask: UInt8) throws(DocumentError) {
    switch label {
    case Label.nan, Label.zero: break
    case Label.positive: try skipGroups(mask)
    case Label.negative: try skipGroups(~mask)
    default: throw damaged("a number")
    }
  }

  private mutating func skipGroups(_ mask: UInt8) throws(DocumentError) {
    while try next(mask) & 1 == 1 {}
  }

  private mutating func text(_ mask: UInt8) throws(DocumentError) -> [UInt8] {
    var text: [UInt8] = []
    while true {
      let byte = try next(mask)
      switch byte {
      case Label.end: return text
      case 1:
        let escaped = try next(mask)
        guard escaped == 1 || escaped == 2 else { throw damaged("a text") }
        text.append(escaped - 1)
      default: text.append(byte)
      }
    }
  }

  private mutating func skipText(_ mask: UInt8) throws(DocumentError) {
    while true {
      let byte = try next(mask)
      if byte == Label.end { return }
      guard byte == 1 else { continue }
      let escaped = try next(mask)
      guard escaped == 1 || escaped == 2 else { throw damaged("a text") }
    }
  }

  private func mask(_ direction: Direction) -> UInt8 { direction == .ascending ? 0 : 0xFF }

  private mutating func next(_ mask: UInt8) throws(DocumentError) -> UInt8 {
    guard offset < bytes.count else { throw damaged("an encoding that ends") }
    defer { offset += 1 }
    return bytes[offset] ^ mask
  }

  private func damaged(_ what: String) -> DocumentError {
    DocumentError(
      .invalidEncoding,
      "At byte \(offset) there is not \(what). The key is damaged; build its index anew.")
  }
}
