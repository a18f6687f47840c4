import ConiferDocument
import ConiferTree
import ConiferWire

/// Parsers of the command line's texts that are about documents.
enum DocumentInput {
  /// The fields of a document: a JSON object, or a document in the REST form.
  ///
  /// - Parameter path: the document, which the REST form may name too.
  static func fields(
    _ json: [UInt8], typed: Bool, of path: DocumentPath
  ) throws -> [(String, WriteValue)] {
    var reader = DocumentJSONReader(json)
    let fields: MapValue
    if typed {
      let document = try reader.document(try reader.next())
      try reader.end()
      if let name = document.name, name.path != path {
        throw Failure(
          "invalid-path", .badData,
          "The document in the REST form is \(name.path), not \(path): leave its name out, or name one place."
        )
      }
      fields = document.fields
    } else {
      fields = try object(&reader)
    }
    return fields.fields.map { ($0.name, .value($0.value)) }
  }

  private static func object(_ reader: inout DocumentJSONReader) throws -> MapValue {
    let first = try reader.next()
    guard first == .beginObject else {
      throw Failure(
        "not-an-object", .badData, "A document is a JSON object of fields, such as {\"size\": 3}.")
    }
    let value = try reader.plain(first)
    try reader.end()
    return value.map ?? .empty
  }

  /// The changes of an update: a JSON object of field paths and values.
  static func changes(_ json: [UInt8], typed: Bool) throws -> [(FieldPath, WriteValue)] {
    var reader = DocumentJSONReader(json)
    var changes: [(FieldPath, WriteValue)] = []
    guard try reader.next() == .beginObject else {
      throw Failure(
        "not-an-object", .badData,
        "An update is a JSON object of field paths and values, such as {\"address.city\": \"Rome\"}."
      )
    }
    try reader.rest { (reader, key) throws(JSONError) in
      let path = try reader.checked { () throws(DocumentError) in try Self.field(key) }
      let value = typed ? try reader.typed() : try reader.plain(try reader.next())
      changes.append((path, .value(value)))
    }
    try reader.end()
    return changes
  }

  /// A field as apps write it, `address.city`, or as the service does, with names in back quotes.
  static func field(_ text: String) throws(DocumentError) -> FieldPath {
    text.utf8.contains(UInt8(ascii: "`"))
      ? try FieldPath(canonical: text) : try FieldPath(dotted: text)
  }

  /// A value on the command line.
  static func value(_ text: String, typed: Bool) throws -> DocumentValue {
    var reader = DocumentJSONReader(Array(text.utf8))
    do throws(JSONError) {
      let value = typed ? try reader.typed() : try reader.plain(try reader.next())
      try reader.end()
      return value
    } catch {
      throw Failure.usage(
        "The value \(text) is no \(typed ? "value in the REST form" : "JSON; a string needs quotes: '\"\(text)\"'")"
          + " (\(error.message)).")
    }
  }

  /// A condition: a field, an operator and a value, with spaces between them.
  static func filter(_ text: String, typed: Bool) throws -> Filter {
    // A name in back quotes may hold spaces.
    var isQuoted = false
    let end = text.utf8.firstIndex { byte in
      if byte == UInt8(ascii: "`") { isQuoted.toggle() }
      return byte == UInt8(ascii: " ") && !isQuoted
    }
    let parts = end.map { text[$0...].drop { $0 == " " }.split(separator: " ", maxSplits: 1) } ?? []
    guard let end, parts.count == 2, let name = parts.first,
      let comparison = FieldFilter.Operator.allCases.first(where: { $0.rawValue == name })
    else {
      let known = FieldFilter.Operator.allCases.map(\.rawValue).joined(separator: ", ")
      throw Failure.usage(
        "'\(text)' is no condition: write a field, an operator and a value, such as 'size > 3'. Operators: "
          + "\(known).")
    }
    let value = try value(String(parts[1]), typed: typed)
    return .field(try field(String(text[..<end])), comparison, value)
  }

  /// An order: a field, perhaps with `:desc` or `:asc` behind it.
  static func order(_ text: String) throws -> DocumentQuery.Order {
    for (ending, direction) in [(":desc", Direction.descending), (":asc", .ascending)]
    where text.hasSuffix(ending) {
      return DocumentQuery.Order(try field(String(text.dropLast(ending.count))), direction)
    }
    // A name in back quotes may hold colons.
    var isQuoted = false
    let hasColon = text.utf8.contains { byte in
      if byte == UInt8(ascii: "`") { isQuoted.toggle() }
      return byte == UInt8(ascii: ":") && !isQuoted
    }
    guard !hasColon else {
      throw Failure.usage(
        "The order '\(text)' ends in neither :asc nor :desc; a name that holds a colon stands in back quotes."
      )
    }
    return DocumentQuery.Order(try field(text))
  }
}
