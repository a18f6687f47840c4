import ConiferDocument

/// Documents as JSON, as an app keeps them in rows: times are milliseconds.
enum DocumentJSON {
  static func bytes(_ fields: MapValue) -> [UInt8] {
    var bytes: [UInt8] = []
    append(fields, to: &bytes)
    return bytes
  }

  private static func append(_ map: MapValue, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "{"))
    for (place, field) in map.fields.enumerated() {
      if place > 0 { bytes.append(UInt8(ascii: ",")) }
      append(field.name, to: &bytes)
      bytes.append(UInt8(ascii: ":"))
      append(field.value, to: &bytes)
    }
    bytes.append(UInt8(ascii: "}"))
  }

  private static func append(_ value: DocumentValue, to bytes: inout [UInt8]) {
    switch value {
    case .boolean(let flag): bytes += Array((flag ? "true" : "false").utf8)
    case .integer(let number): bytes += Array("\(number)".utf8)
    case .double(let number): bytes += Array("\(number)".utf8)
    case .timestamp(let time): bytes += Array("\(time.microseconds / 1000)".utf8)
    case .string(let text): append(text, to: &bytes)
    case .array(let elements):
      bytes.append(UInt8(ascii: "["))
      for (place, element) in elements.enumerated() {
        if place > 0 { bytes.append(UInt8(ascii: ",")) }
        append(element, to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .map(let map): append(map, to: &bytes)
    default: bytes += Array("null".utf8)
    }
  }

  /// The posts' texts have nothing to escape.
  private static func append(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    bytes += text.utf8
    bytes.append(UInt8(ascii: "\""))
  }
}

/// Reads JSON that `DocumentJSON` wrote, in one pass.
struct DocumentJSONReader {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var at = 0

  init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  /// The fields, or nil when the bytes are not of this form.
  mutating func fields() -> MapValue? {
    guard take(UInt8(ascii: "{")) else { return nil }
    var fields: [MapValue.Field] = []
    while !take(UInt8(ascii: "}")) {
      _ = take(UInt8(ascii: ","))
      guard let name = text(), take(UInt8(ascii: ":")), let value = value() else { return nil }
      fields.append(MapValue.Field(name, value))
    }
    return MapValue(fields)
  }

  private mutating func value() -> DocumentValue? {
    guard at < bytes.count else { return nil }
    switch bytes[at] {
    case UInt8(ascii: "{"): return fields().map { .map($0) }
    case UInt8(ascii: "\""): return text().map { .string($0) }
    case UInt8(ascii: "t"):
      at += 4
      return .boolean(true)
    case UInt8(ascii: "f"):
      at += 5
      return .boolean(false)
    case UInt8(ascii: "n"):
      at += 4
      return .null
    case UInt8(ascii: "["):
      at += 1
      var elements: [DocumentValue] = []
      while !take(UInt8(ascii: "]")) {
        _ = take(UInt8(ascii: ","))
        guard let element = value() else { return nil }
        elements.append(element)
      }
      return .array(elements)
    default: return number()
    }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard at < bytes.count, bytes[at] == byte else { return false }
    at += 1
    return true
  }

  private mutating func text() -> String? {
    guard take(UInt8(ascii: "\"")) else { return nil }
    let start = at
    while at < bytes.count, bytes[at] != UInt8(ascii: "\"") { at += 1 }
    guard at < bytes.count else { return nil }
    defer { at += 1 }
    return String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<at]), as: UTF8.self)
  }

  private mutating func number() -> DocumentValue? {
    let start = at
    var isWhole = true
    var magnitude: Int64 = 0
    let isNegative = take(UInt8(ascii: "-"))
    while at < bytes.count {
      let digit = bytes[at] &- UInt8(ascii: "0")
      if digit < 10 {
        magnitude = magnitude &* 10 &+ Int64(digit)
      } else if [UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "-")].contains(bytes[at]) {
        isWhole = false
      } else {
        break
      }
      at += 1
    }
    if isWhole { return .integer(isNegative ? -magnitude : magnitude) }
    let text = String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<at]), as: UTF8.self)
    return Double(text).map { .double($0) }
  }
}
