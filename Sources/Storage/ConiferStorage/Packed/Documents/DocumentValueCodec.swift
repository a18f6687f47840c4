import ConiferDocument
import ConiferKeyValue

/// Values of documents as tagged bytes; Docs/Formats/Documents.md has them byte by byte.
enum DocumentValueCodec {
  /// The byte that begins a value; the numbers are part of the format.
  private enum Tag {
    static let null: UInt8 = 0
    static let `false`: UInt8 = 1
    static let `true`: UInt8 = 2
    static let integer: UInt8 = 3
    static let double: UInt8 = 4
    static let string: UInt8 = 5
    static let timestamp: UInt8 = 6
    static let bytes: UInt8 = 7
    static let geoPoint: UInt8 = 8
    static let reference: UInt8 = 9
    static let array: UInt8 = 10
    static let vector: UInt8 = 11
    static let map: UInt8 = 12
    static let serverTimestamp: UInt8 = 13
    static let serverTimestampOver: UInt8 = 14
  }

  /// How deep bytes may nest values: well above what a write may, so that damage cannot exhaust the stack.
  private static let deepest = 100

  /// Whether fields are nested so little that they can be decoded. A map within a value takes two
  /// levels, an array one.
  static func isReadable(_ map: MapValue, depth: Int = 0) -> Bool {
    depth <= deepest && map.fields.allSatisfy { isReadable($0.value, depth: depth + 1) }
  }

  private static func isReadable(_ value: DocumentValue, depth: Int) -> Bool {
    guard depth <= deepest else { return false }
    return switch value {
    case .array(let elements): elements.allSatisfy { isReadable($0, depth: depth + 1) }
    case .map(let map): isReadable(map, depth: depth + 1)
    case .serverTimestamp(_, let previous?): isReadable(previous, depth: depth + 1)
    default: true
    }
  }

  static func append(_ value: DocumentValue, to writer: inout ByteWriter) {
    switch value {
    case .null: writer.byte(Tag.null)
    case .boolean(let flag): writer.byte(flag ? Tag.true : Tag.false)
    case .integer(let number):
      writer.byte(Tag.integer)
      writer.zigzag(number)
    case .double(let number):
      writer.byte(Tag.double)
      writer.littleEndian(number.bitPattern)
    case .timestamp(let time):
      writer.byte(Tag.timestamp)
      append(time, to: &writer)
    case .serverTimestamp(let written, let previous):
      writer.byte(previous == nil ? Tag.serverTimestamp : Tag.serverTimestampOver)
      append(written, to: &writer)
      if let previous { append(previous, to: &writer) }
    case .string(let text):
      writer.byte(Tag.string)
      writer.sized(text)
    case .bytes(let bytes):
      writer.byte(Tag.bytes)
      writer.sized(bytes)
    case .reference(let name):
      writer.byte(Tag.reference)
      writer.sized(name.database.project)
      writer.sized(name.database.database)
      writer.sized(name.path.description)
    case .geoPoint(let point):
      writer.byte(Tag.geoPoint)
      writer.littleEndian(point.latitude.bitPattern)
      writer.littleEndian(point.longitude.bitPattern)
    case .array(let elements):
      writer.byte(Tag.array)
      writer.varint(elements.count)
      for element in elements { append(element, to: &writer) }
    case .vector(let numbers):
      writer.byte(Tag.vector)
      writer.varint(numbers.count)
      for number in numbers { writer.littleEndian(number.bitPattern) }
    case .map(let map):
      writer.byte(Tag.map)
      append(map, to: &writer)
    }
  }

  static func append(_ map: MapValue, to writer: inout ByteWriter) {
    writer.varint(map.count)
    for field in map.fields {
      writer.sized(field.name)
      append(field.value, to: &writer)
    }
  }

  static func append(_ time: Timestamp, to writer: inout ByteWriter) {
    writer.zigzag(time.seconds)
    writer.varint(Int(time.nanoseconds))
  }

  // MARK: Reading

  /// The next value, or nil when the bytes are none.
  static func value(_ reader: inout LentReader, depth: Int = 0) -> DocumentValue? {
    guard depth <= deepest, let tag = reader.byte() else { return nil }
    switch tag {
    case Tag.null: return .null
    case Tag.false: return .boolean(false)
    case Tag.true: return .boolean(true)
    case Tag.integer: return reader.zigzag().map { .integer($0) }
    case Tag.double: return reader.double().map { .double($0) }
    case Tag.string: return reader.text().map { .string($0) }
    case Tag.timestamp: return timestamp(&reader).map { .timestamp($0) }
    case Tag.bytes:
      return reader.size().flatMap { reader.take($0) }.map { .bytes(Bytes($0)) }
    case Tag.geoPoint:
      guard let latitude = reader.double(), let longitude = reader.double(),
        let point = try? GeoPoint(latitude: latitude, longitude: longitude)
      else { return nil }
      return .geoPoint(point)
    case Tag.reference:
      guard let project = reader.text(), let database = reader.text(), let text = reader.text(),
        let path = try? DocumentPath(text)
      else { return nil }
      return .reference(DocumentName(path, in: DatabaseID(project: project, database: database)))
    case Tag.array:
      guard let count = reader.size(), count <= reader.remaining else { return nil }
      var elements: [DocumentValue] = []
      elements.reserveCapacity(min(count, 256))
      for _ in 0..<count {
        guard let element = value(&reader, depth: depth + 1) else { return nil }
        elements.append(element)
      }
      return .array(elements)
    case Tag.vector:
      guard let count = reader.size(), count <= reader.remaining / 8 else { return nil }
      var numbers: [Double] = []
      for _ in 0..<count {
        guard let number = reader.double() else { return nil }
        numbers.append(number)
      }
      return .vector(numbers)
    case Tag.map: return map(&reader, depth: depth + 1).map { .map($0) }
    case Tag.serverTimestamp:
      return timestamp(&reader).map { .serverTimestamp(written: $0, previous: nil) }
    case Tag.serverTimestampOver:
      guard let written = timestamp(&reader), let previous = value(&reader, depth: depth + 1)
      else { return nil }
      return .serverTimestamp(written: written, previous: previous)
    default: return nil
    }
  }

  static func map(_ reader: inout LentReader, depth: Int = 0) -> MapValue? {
    guard depth <= deepest, let count = reader.size(), count <= reader.remaining else { return nil }
    var fields: [MapValue.Field] = []
    fields.reserveCapacity(min(count, 256))
    for _ in 0..<count {
      guard let name = reader.text(), let value = value(&reader, depth: depth + 1) else {
        return nil
      }
      fields.append(MapValue.Field(name, value))
    }
    let map = MapValue(fields)
    return map.count == count ? map : nil
  }

  static func timestamp(_ reader: inout LentReader) -> Timestamp? {
    guard let seconds = reader.zigzag(), let nanoseconds = reader.size() else { return nil }
    return try? Timestamp(seconds: seconds, nanoseconds: Int32(nanoseconds))
  }

  // MARK: Passing over

  /// Decodes the selected fields of the next map, and skips the values of others.
  static func map(_ reader: inout LentReader, _ selection: FieldSelection) -> MapValue? {
    guard let count = reader.size(), count <= reader.remaining else { return nil }
    var fields: [MapValue.Field] = []
    var wanted = selection.names[...]
    for _ in 0..<count {
      guard let name = reader.sized() else { return nil }
      // Both have the order of names.
      var order = 1
      while order > 0, let first = wanted.first {
        order = first.utf8.withUnsafeBytes { compareBytes(name, $0) }
        if order > 0 { wanted.removeFirst() }
      }
      if order == 0, let text = wanted.popFirst()?.text {
        guard let value = value(&reader, depth: 1) else { return nil }
        fields.append(MapValue.Field(text, value))
      } else {
        guard pass(&reader, depth: 1) == .value else { return nil }
      }
    }
    return MapValue(fields)
  }

  /// Whether the next map fails a condition on one of its fields; the fields after that one are not
  /// checked.
  ///
  /// - Parameter conditions: in the order of names.
  static func fails(_ reader: inout LentReader, _ conditions: [FieldCondition]) -> Bool {
    guard let count = reader.size(), count <= reader.remaining else { return false }
    var place = 0
    for _ in 0..<count {
      guard let name = reader.sized() else { return false }
      let order = conditions[place].name.withUnsafeBytes { compareBytes(name, $0) }
      // Names ascend, so the field is missing.
      if order > 0 { return true }
      if order < 0 {
        guard pass(&reader, depth: 1) == .value else { return false }
        continue
      }
      guard let value = value(&reader, depth: 1) else { return false }
      let compared = place
      while place < conditions.count, conditions[place].name == conditions[compared].name {
        if !conditions[place].filter.matches(value) { return true }
        place += 1
      }
      if place == conditions.count { return false }
    }
    return true
  }

  /// What is passed over.
  private enum Passed {
    case value
    /// A value whose tag only a later version knows; nothing after it was skipped.
    case newer
    case nothing
  }

  /// Skips a value. The content of texts and numbers is not checked.
  private static func pass(_ reader: inout LentReader, depth: Int) -> Passed {
    guard depth <= deepest, let tag = reader.byte() else { return .nothing }
    let isPassed: Bool
    switch tag {
    case Tag.null, Tag.false, Tag.true: return .value
    case Tag.integer: isPassed = reader.varint() != nil
    case Tag.double: isPassed = reader.take(8) != nil
    case Tag.string, Tag.bytes: isPassed = reader.sized() != nil
    case Tag.timestamp, Tag.serverTimestamp:
      isPassed = reader.varint() != nil && reader.varint() != nil
    case Tag.geoPoint: isPassed = reader.take(16) != nil
    case Tag.reference:
      isPassed = reader.sized() != nil && reader.sized() != nil && reader.sized() != nil
    case Tag.vector: isPassed = reader.size().flatMap { reader.take(8 * $0) } != nil
    case Tag.array:
      guard let count = reader.size(), count <= reader.remaining else { return .nothing }
      for _ in 0..<count {
        let passed = pass(&reader, depth: depth + 1)
        guard passed == .value else { return passed }
      }
      return .value
    case Tag.map: return passMap(&reader, depth: depth + 1)
    case Tag.serverTimestampOver:
      guard reader.varint() != nil, reader.varint() != nil else { return .nothing }
      return pass(&reader, depth: depth + 1)
    default: return .newer
    }
    return isPassed ? .value : .nothing
  }

  private static func passMap(_ reader: inout LentReader, depth: Int) -> Passed {
    guard let count = reader.size(), count <= reader.remaining else { return .nothing }
    for _ in 0..<count {
      guard reader.sized() != nil else { return .nothing }
      let passed = pass(&reader, depth: depth)
      guard passed == .value else { return passed }
    }
    return .value
  }

  /// Whether the next map has a value that only a later version knows, and no invalid value before
  /// it.
  static func holdsNewerValue(_ reader: inout LentReader) -> Bool {
    passMap(&reader, depth: 1) == .newer
  }
}
