import ConiferDocument
import ConiferTree
import ConiferWire

/// A value that a command prints for programs: JSON whose members keep their order.
indirect enum Report {
  case string(String)
  case integer(Int)
  case number(Double)
  case bool(Bool)
  case null
  case list([Report])
  case object([(String, Report)])
  /// A node in export form.
  case node(Node)

  /// A string, or null.
  static func optional(_ text: String?) -> Report { text.map { .string($0) } ?? .null }
  /// An integer, or null.
  static func optional(_ number: Int?) -> Report { number.map { .integer($0) } ?? .null }

  /// The value of a field in plain JSON: what JSON has no type for is text; a geopoint is an object.
  init(_ value: DocumentValue) {
    switch value {
    case .null: self = .null
    case .boolean(let flag): self = .bool(flag)
    case .integer(let number): self = .integer(Int(number))
    case .double(let number): self = number.isFinite ? .number(number) : .string("\(number)")
    case .timestamp(let time), .serverTimestamp(let time, _): self = .string(time.rfc3339)
    case .string(let text): self = .string(text)
    case .bytes(let bytes): self = .string(Base64.encode(bytes))
    case .reference(let name): self = .string(name.path.description)
    case .geoPoint(let point):
      self = .object([
        ("latitude", .number(point.latitude)), ("longitude", .number(point.longitude)),
      ])
    case .array(let values): self = .list(values.map { Report($0) })
    case .vector(let numbers): self = .list(numbers.map { Report(.double($0)) })
    case .map(let map): self = .object(map.fields.map { ($0.name, Report($0.value)) })
    }
  }

  /// The JSON text in one line; doubles have a fraction, so that they are told from integers.
  var marked: String {
    var writer = JSONWriter()
    writer.marksDoubles = true
    write(to: &writer)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  /// The JSON text in one line.
  var compact: String {
    var writer = JSONWriter()
    write(to: &writer)
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  func write(to writer: inout JSONWriter) {
    switch self {
    case .string(let text): writer.string(text)
    case .integer(let number): writer.integer(Int64(number))
    case .number(let number): writer.double(number)
    case .bool(let flag): writer.bool(flag)
    case .null: writer.null()
    case .list(let values):
      writer.beginArray()
      for value in values { value.write(to: &writer) }
      writer.endArray()
    case .object(let members):
      writer.beginObject()
      for (key, value) in members {
        writer.key(key)
        value.write(to: &writer)
      }
      writer.endObject()
    case .node(let node): node.write(to: &writer, .export)
    }
  }
}
