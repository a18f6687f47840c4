/// Whether values are sorted ascending or descending.
public enum Direction: Sendable, Hashable {
  /// From the least value to the greatest.
  case ascending
  /// From the greatest value to the least.
  case descending

  /// The other direction.
  public var reversed: Direction { self == .ascending ? .descending : .ascending }
}

/// An encoder of values and paths into bytes that compare, as unsigned bytes, as the values do.
///
/// No encoding is a prefix of another one, so that several may follow each other, each in its own
/// direction. Values that `DocumentValue.compare` finds equal have the same bytes: integers and
/// doubles are encoded by their exact value, even beyond 2^53. Paths can be decoded by
/// `OrderedDecoder`, values cannot.
public struct OrderedEncoder: Sendable {
  /// What was written.
  public private(set) var bytes: [UInt8]

  /// An encoder.
  ///
  /// - Parameter bytes: what the encodings follow.
  public init(_ bytes: [UInt8] = []) { self.bytes = bytes }

  /// Appends a value.
  ///
  /// - Parameters:
  ///   - value: the value.
  ///   - direction: ascending bytes compare as the values do, descending bytes the other way.
  public mutating func append(_ value: DocumentValue, _ direction: Direction = .ascending) {
    append(direction) { $0.encode(value) }
  }

  /// Appends the path of a document, which can be read back.
  ///
  /// - Parameters:
  ///   - path: the path.
  ///   - direction: ascending bytes compare as the paths do, descending bytes the other way.
  public mutating func append(_ path: DocumentPath, _ direction: Direction = .ascending) {
    append(direction) { $0.encode(path.path) }
  }

  /// Appends the path of a collection, which can be read back.
  package mutating func append(_ path: CollectionPath) { encode(path.path) }

  /// Appends the id of a document, which can be read back.
  ///
  /// - Parameters:
  ///   - id: the id.
  ///   - direction: ascending bytes compare as the ids do, descending bytes the other way.
  package mutating func append(id: String, _ direction: Direction = .ascending) {
    append(direction) { $0.encode(segment: id) }
  }

  /// The range of first bytes of all values that a query compares with this value, in ascending
  /// direction. No other value's encoding begins with one of them.
  public static func firstBytes(ofTypeOf value: DocumentValue) -> ClosedRange<UInt8> {
    switch value.rank {
    case .null: return Label.null...Label.null
    case .boolean: return Label.false...Label.true
    case .number: return Label.nan...Label.positive
    case .timestamp: return Label.timestamp...Label.timestamp
    case .serverTimestamp: return Label.serverTimestamp...Label.serverTimestamp
    case .string: return Label.string...Label.string
    case .bytes: return Label.bytes...Label.bytes
    case .reference: return Label.reference...Label.reference
    case .geoPoint: return Label.geoPoint...Label.geoPoint
    case .array: return Label.array...Label.array
    case .vector: return Label.vector...Label.vector
    case .map: return Label.map...Label.map
    }
  }

  private mutating func append(_ direction: Direction, _ encode: (inout OrderedEncoder) -> Void) {
    let start = bytes.count
    encode(&self)
    guard direction == .descending else { return }
    // No encoding is a prefix of another one, so inverting all bits reverses the order.
    for i in start..<bytes.count { bytes[i] = ~bytes[i] }
  }

  private mutating func encode(_ value: DocumentValue) {
    switch value {
    case .null: bytes.append(Label.null)
    case .boolean(let value): bytes.append(value ? Label.true : Label.false)
    case .integer(let value): encode(ExactNumber(value))
    case .double(let value): encode(ExactNumber(value))
    case .timestamp(let value):
      bytes.append(Label.timestamp)
      encode(value)
    case .serverTimestamp(let written, _):
      bytes.append(Label.serverTimestamp)
      encode(written)
    case .string(let text):
      bytes.append(Label.string)
      encode(text)
    case .bytes(let value):
      bytes.append(Label.bytes)
      value.withUnsafeBufferPointer { escape($0) }
    case .reference(let name):
      bytes.append(Label.reference)
      encode(name.database.project)
      encode(name.database.database)
      encode(name.path.path)
    case .geoPoint(let point):
      bytes.append(Label.geoPoint)
      encode(ExactNumber(point.latitude))
      encode(ExactNumber(point.longitude))
    case .array(let values):
      bytes.append(Label.array)
      for value in values { encode(value) }
      bytes.append(Label.end)
    case .vector(let numbers):
      bytes.append(Label.vector)
      // Vectors are compared by length first, so the length is written first.
      withUnsafeBytes(of: UInt64(numbers.count).bigEndian) { bytes.append(contentsOf: $0) }
      for number in numbers { encode(ExactNumber(number)) }
    case .map(let map):
      bytes.append(Label.map)
      for field in map.fields {
        bytes.append(Label.name)
        encode(field.name)
        encode(field.value)
      }
      bytes.append(Label.end)
    }
  }

  private mutating func encode(_ path: ResourcePath) {
    for segment in path.segments { encode(segment: String(segment)) }
    bytes.append(Label.end)
  }

  private mutating func encode(segment: String) {
    guard let number = NumericID.number(of: segment) else {
      bytes.append(Label.segment)
      return encode(segment)
    }
    bytes.append(Label.numericSegment)
    // The sign bit is inverted, so that negative numbers come first.
    let biased = UInt64(bitPattern: number) ^ 1 << 63
    withUnsafeBytes(of: biased.bigEndian) { bytes.append(contentsOf: $0) }
  }

  private mutating func encode(_ text: String) { text.lendUTF8 { escape($0) } }

  /// Appends bytes and a terminator that is less than every encoded byte: the bytes 0 and 1 are
  /// escaped to two bytes each, all others are written as they are.
  private mutating func escape(_ text: UnsafeBufferPointer<UInt8>) {
    bytes.reserveCapacity(bytes.count + text.count + 1)
    for byte in text {
      if byte < 2 {
        bytes.append(1)
        bytes.append(byte + 1)
      } else {
        bytes.append(byte)
      }
    }
    bytes.append(Label.end)
  }

  private mutating func encode(_ number: ExactNumber) {
    switch number.sign {
    case .nan: bytes.append(Label.nan)
    case .zero: bytes.append(Label.zero)
    case .negative:
      bytes.append(Label.negative)
      let start = bytes.count
      append(number.magnitude, of: ExactNumber.groups)
      for i in start..<bytes.count { bytes[i] = ~bytes[i] }
    case .positive:
      bytes.append(Label.positive)
      append(number.magnitude, of: ExactNumber.groups)
    }
  }

  private mutating func encode(_ time: Timestamp) {
    // 40 bits of seconds since the year 1, 30 of nanoseconds.
    let seconds = UInt64(time.seconds - Timestamp.range.lowerBound)
    append(UInt128(seconds) << 30 | UInt128(UInt32(time.nanoseconds)), of: 10)
  }

  /// Appends a number in groups of seven bits, the highest first, without trailing groups that are
  /// zero. The lowest bit of each byte says whether another one follows.
  private mutating func append(_ value: UInt128, of groups: Int) {
    var rest = value
    var shift = 7 * (groups - 1)
    repeat {
      let group = rest >> UInt128(shift)
      rest -= group << UInt128(shift)
      bytes.append(UInt8(truncatingIfNeeded: group) << 1 | (rest == 0 ? 0 : 1))
      shift -= 7
    } while rest != 0
  }
}
