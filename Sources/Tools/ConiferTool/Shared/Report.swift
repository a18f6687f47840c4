import ConiferTree

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
