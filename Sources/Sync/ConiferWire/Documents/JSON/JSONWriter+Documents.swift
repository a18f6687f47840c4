package import ConiferDocument
package import ConiferTree

/// Documents in the form of Firestore's REST API. One document has one text: names sorted by their UTF-8, times in UTC,
/// no empty lists.
extension JSONWriter {
  /// Writes a document that was found; others have no fields to write.
  package mutating func document(_ document: Document, in database: DatabaseID) {
    beginObject()
    key("name")
    string(DocumentName(document.path, in: database).description)
    // A field whose time the server has yet to say has the estimate.
    if let fields = document.fields?.resolved(.estimate), !fields.isEmpty {
      key("fields")
      self.fields(fields)
    }
    if let time = document.createTime {
      key("createTime")
      string(time.rfc3339)
    }
    if document.version != .zero {
      key("updateTime")
      string(document.version.rfc3339)
    }
    endObject()
  }

  /// Writes a value with its type.
  package mutating func typed(_ value: DocumentValue) {
    beginObject()
    switch value {
    case .null:
      key("nullValue")
      null()
    case .boolean(let flag):
      key("booleanValue")
      bool(flag)
    case .integer(let number):
      key("integerValue")
      string(String(number))
    case .double(let number):
      key("doubleValue")
      special(number)
    case .timestamp(let time), .serverTimestamp(let time, _):
      key("timestampValue")
      string(time.rfc3339)
    case .string(let text):
      key("stringValue")
      string(text)
    case .bytes(let bytes):
      key("bytesValue")
      string(Base64.encode(bytes))
    case .reference(let name):
      key("referenceValue")
      string(name.description)
    case .geoPoint(let point):
      key("geoPointValue")
      beginObject()
      key("latitude")
      double(point.latitude)
      key("longitude")
      double(point.longitude)
      endObject()
    case .array(let values):
      key("arrayValue")
      array(values)
    case .vector(let numbers):
      key("mapValue")
      beginObject()
      key("fields")
      fields(["__type__": "__vector__", "value": .array(numbers.map { .double($0) })])
      endObject()
    case .map(let map):
      key("mapValue")
      beginObject()
      if !map.isEmpty {
        key("fields")
        fields(map)
      }
      endObject()
    }
    endObject()
  }

  private mutating func fields(_ map: MapValue) {
    beginObject()
    for field in map.fields {
      key(field.name)
      typed(field.value)
    }
    endObject()
  }

  private mutating func array(_ values: [DocumentValue]) {
    beginObject()
    if !values.isEmpty {
      key("values")
      beginArray()
      for value in values { typed(value) }
      endArray()
    }
    endObject()
  }

  /// A number, or the word for what JSON has no number for.
  private mutating func special(_ number: Double) {
    if number.isNaN { return string("NaN") }
    guard number.isInfinite else { return double(number) }
    string(number < 0 ? "-Infinity" : "Infinity")
  }
}
