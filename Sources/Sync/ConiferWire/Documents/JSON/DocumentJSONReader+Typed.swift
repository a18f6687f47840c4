package import ConiferDocument
package import ConiferTree

// The form of Firestore's REST API: each value is an object whose only key tells its type.
extension DocumentJSONReader {
  /// A document whose first event was read: `name`, `fields`, `createTime` and `updateTime`, in any order.
  package mutating func document(_ first: JSONEvent) throws(JSONError) -> Typed {
    var document = Typed(line: json.line, column: json.column)
    guard first == .beginObject else {
      throw refused("A document is a JSON object with a name and fields.")
    }
    try rest { (reader, key) throws(JSONError) in
      switch key {
      case "name":
        let text = try reader.text("name")
        document.name = try reader.checked { () throws(DocumentError) in try DocumentName(text) }
      case "fields": document.fields = try reader.fields()
      case "updateTime": document.updateTime = try reader.time(key)
      case "createTime": document.createTime = try reader.time(key)
      default:
        throw reader.refused(
          "A document has no \"\(key)\": it has name, fields, createTime and updateTime.")
      }
    }
    return document
  }

  /// The fields of a document or a map.
  package mutating func fields() throws(JSONError) -> MapValue {
    var pairs: [(String, DocumentValue)] = []
    guard try next() == .beginObject else {
      throw refused("What stands behind fields is a JSON object.")
    }
    while case .key(let key) = try next() { pairs.append((key, try typed())) }
    return MapValue(pairs)
  }

  /// A value with its type.
  package mutating func typed() throws(JSONError) -> DocumentValue {
    guard try next() == .beginObject else {
      throw refused("A value such as {\"stringValue\": \"blue\"} is a JSON object.")
    }
    return try typedRest()
  }

  /// A value with its type, whose object was begun.
  mutating func typedRest() throws(JSONError) -> DocumentValue {
    var value: DocumentValue?
    while case .key(let key) = try next() {
      guard value == nil else { throw refused("A value has one type, and this has two.") }
      value = try self.value(key)
    }
    guard let value else {
      throw refused("A value has a type: write {\"nullValue\": null} for null.")
    }
    return value
  }

  private mutating func value(_ type: String) throws(JSONError) -> DocumentValue {
    switch type {
    case "nullValue":
      let event = try next()
      guard event == .null || event == .string("NULL_VALUE") || event == .integer(0) else {
        throw refused("The value of nullValue is null.")
      }
      return .null
    case "booleanValue":
      guard case .bool(let flag) = try next() else {
        throw refused("The value of booleanValue is true or false.")
      }
      return .boolean(flag)
    case "integerValue": return .integer(try integer())
    case "doubleValue": return .double(try double(type))
    case "timestampValue": return .timestamp(try time(type))
    case "stringValue": return .string(try text(type))
    case "bytesValue":
      guard let bytes = Base64.decode(try text(type)) else {
        throw refused("The value of bytesValue is text of base 64.")
      }
      return .bytes(bytes)
    case "referenceValue":
      let text = try text(type)
      return .reference(try checked { () throws(DocumentError) in try DocumentName(text) })
    case "geoPointValue": return .geoPoint(try geoPoint())
    case "arrayValue": return .array(try array())
    case "mapValue":
      var fields = MapValue.empty
      try members("The value of mapValue") { (reader, key) throws(JSONError) in
        guard key == "fields" else { throw reader.refused("A map has fields, not \"\(key)\".") }
        fields = try reader.fields()
      }
      return Self.vector(fields).map { .vector($0) } ?? .map(fields)
    default:
      throw refused(
        "\"\(type)\" is no type of a value. The types are nullValue, booleanValue, integerValue, "
          + "doubleValue, timestampValue, stringValue, bytesValue, referenceValue, geoPointValue, "
          + "arrayValue and mapValue.")
    }
  }

  /// A string.
  package mutating func text(_ key: String) throws(JSONError) -> String {
    guard case .string(let text) = try next() else {
      throw refused("The value of \(key) is a string.")
    }
    return text
  }

  /// A word of an enumeration, which may be told by its number.
  ///
  /// - Parameter words: the words in the order of their numbers.
  mutating func word(_ key: String, _ words: [String]) throws(JSONError) -> String {
    switch try next() {
    case .string(let text): return text
    case .integer(let number):
      if let place = Int(exactly: number), words.indices.contains(place) { return words[place] }
    default: break
    }
    throw refused("The value of \(key) is a word.")
  }

  /// A time.
  package mutating func time(_ key: String) throws(JSONError) -> Timestamp {
    let text = try text(key)
    return try checked { () throws(DocumentError) in try Timestamp(rfc3339: text) }
  }

  /// An integer, as text or as a number.
  mutating func integer() throws(JSONError) -> Int64 {
    switch try next() {
    case .integer(let number): return number
    case .string(let text):
      if let number = Int64(text) { return number }
    default: break
    }
    throw refused("The value of integerValue is an integer of 64 bits, such as \"1\".")
  }

  private mutating func double(_ key: String) throws(JSONError) -> Double {
    switch try next() {
    case .integer(let number): return Double(number)
    case .double(let number): return number
    case .string("NaN"): return .nan
    case .string("Infinity"): return .infinity
    case .string("-Infinity"): return -.infinity
    default:
      throw refused(
        "The value of \(key) is a number, \"NaN\", \"Infinity\" or \"-Infinity\".")
    }
  }

  /// A place; what it lacks is zero.
  private mutating func geoPoint() throws(JSONError) -> GeoPoint {
    var (latitude, longitude) = (0.0, 0.0)
    try members("The value of geoPointValue") { (reader, key) throws(JSONError) in
      switch key {
      case "latitude": latitude = try reader.double(key)
      case "longitude": longitude = try reader.double(key)
      default:
        throw reader.refused("A geopoint has latitude and longitude, not \"\(key)\".")
      }
    }
    let (north, east) = (latitude, longitude)
    return try checked { () throws(DocumentError) in
      try GeoPoint(latitude: north, longitude: east)
    }
  }

  private mutating func array() throws(JSONError) -> [DocumentValue] {
    var values: [DocumentValue] = []
    try members("The value of arrayValue") { (reader, key) throws(JSONError) in
      guard key == "values", try reader.next() == .beginArray else {
        throw reader.refused("An array has values, which are a JSON array.")
      }
      while true {
        let event = try reader.next()
        if event == .endArray { return }
        guard event == .beginObject else {
          throw reader.refused("An element is a value with its type.")
        }
        values.append(try reader.typedRest())
      }
    }
    return values
  }

  /// The numbers of a map that stands for a vector; nil for any other map, also for one with integers, which would come
  /// back as doubles.
  private static func vector(_ map: MapValue) -> [Double]? {
    guard map.count == 2, map["__type__"] == .string("__vector__"),
      case .array(let values) = map["value"]
    else { return nil }
    let numbers = values.compactMap { value -> Double? in
      if case .double(let number) = value { number } else { nil }
    }
    return numbers.count == values.count ? numbers : nil
  }
}
