import ConiferDocument
import Foundation

extension DataReader {
  mutating func pairs(
    _ data: [String: Any]
  ) throws(FirestoreError) -> [(String, WriteValue)] {
    var pairs: [(String, WriteValue)] = []
    pairs.reserveCapacity(data.count)
    for (name, value) in data {
      place.append(name)
      pairs.append((name, try read(value)))
      place.removeLast()
    }
    return pairs.sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
  }

  /// The value of what an app gave.
  mutating func read(_ value: Any) throws(FirestoreError) -> WriteValue {
    // Exact types are checked first, because a cast would take the number 1 for true. Classes of
    // Foundation are checked before casts too, because on Linux a cast to one would copy whole
    // containers.
    if let native = Self.native(value) { return .value(native) }
    if let optional = value as? any OptionalValue {
      guard let wrapped = optional.wrapped else { return .value(.null) }
      return try read(wrapped)
    }
    if let data = value as? [String: Any] {
      try checkDepth()
      return .map(try pairs(data))
    }
    if let elements = value as? [Any] { return .array(try array(elements)) }
    if value is [AnyHashable: Any] {
      throw refused("a dictionary has a key that is no String", "Use Strings.")
    }
    if let own = try clientValue(value) { return own }
    if let bridged = try bridged(value) { return .value(bridged) }
    throw refused(
      "a value of type \(type(of: value)) cannot be stored",
      "Give a String, a number, a Bool, a Date, Data, a dictionary with String keys, an array, a type "
        + "of the client, or NSNull; or encode it with setData(from:).")
  }

  private mutating func array(_ elements: [Any]) throws(FirestoreError) -> [WriteValue] {
    try checkDepth()
    var values: [WriteValue] = []
    values.reserveCapacity(elements.count)
    for (index, element) in elements.enumerated() {
      place.append(String(index))
      values.append(try read(element))
      place.removeLast()
    }
    return values
  }

  /// The value of a plain type of Swift; nil for others.
  private static func native(_ value: Any) -> DocumentValue? {
    let type = type(of: value)
    if type == String.self { return (value as? String).map { .string($0) } }
    if type == Int.self { return (value as? Int).map { .integer(Int64($0)) } }
    if type == Double.self { return (value as? Double).map { .double($0) } }
    if type == Bool.self { return (value as? Bool).map { .boolean($0) } }
    return nil
  }

  /// The value of a type of the client; nil for others.
  private mutating func clientValue(_ value: Any) throws(FirestoreError) -> WriteValue? {
    switch value {
    case let field as FieldValue:
      switch field.content {
      case .write(let write): return write
      case .fault(let error): throw error
      }
    case let time as Timestamp: return .value(.timestamp(try model(time.checked)))
    case let point as GeoPoint: return .value(.geoPoint(try model(point.checked)))
    case let vector as VectorValue: return .value(.vector(vector.array))
    case let reference as DocumentReference:
      firestore = firestore ?? reference.firestore
      let path = try reference.target.get()
      return .value(.reference(DocumentName(path, in: reference.firestore.database)))
    case is Query:
      throw refused("a query or a collection cannot be stored", "Store a document's reference.")
    default: return nil
    }
  }

  /// The value of what Foundation has, or of a rarer type of Swift; nil for others.
  private func bridged(_ value: Any) throws(FirestoreError) -> DocumentValue? {
    // Numbers are recognized by class, because an `NSNumber` can be cast to types of Swift and the
    // other way round.
    if type(of: value) is NSNumber.Type, let number = value as? NSNumber {
      return try self.number(number)
    }
    switch value {
    case is NSNull: return .null
    case let date as Date:
      return .timestamp(try model(Timestamp(date: date).checked))
    case let data as Data: return .bytes(Array(data))
    case let text as String: return .string(text)
    case let text as Substring: return .string(String(text))
    case let decimal as Decimal: return .double((decimal as NSDecimalNumber).doubleValue)
    case let number as CGFloat: return .double(Double(number))
    case let number as Float: return .double(Double(number))
    case let number as any BinaryInteger: return try integer(number)
    default: return nil
    }
  }

  private func number(_ number: NSNumber) throws(FirestoreError) -> DocumentValue {
    // On every system all numbers made from `true` are one object, and so are those from `false`.
    if number === NSNumber(value: true) || number === NSNumber(value: false) {
      return .boolean(number.boolValue)
    }
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "d"), UInt8(ascii: "f"): return .double(number.doubleValue)
    case UInt8(ascii: "Q"): return try integer(number.uint64Value)
    default: return .integer(number.int64Value)
    }
  }

  private func integer(_ number: some BinaryInteger) throws(FirestoreError) -> DocumentValue {
    guard let value = Int64(exactly: number) else {
      throw refused(
        "the integer \(number) does not fit 64 bits with a sign", "Store a Double or a String.")
    }
    return .integer(value)
  }

  /// The value without instructions.
  func plain(
    _ value: WriteValue, isElement: Bool
  ) throws(FirestoreError) -> DocumentValue {
    switch value {
    case .value(let value): return value
    case .array(let elements):
      if isElement {
        throw refused("an array is directly within an array", "Put a map between the two.")
      }
      var values: [DocumentValue] = []
      for element in elements { values.append(try plain(element, isElement: true)) }
      return .array(values)
    case .map(let pairs):
      var fields: [MapValue.Field] = []
      for (name, value) in pairs {
        fields.append(.init(name, try plain(value, isElement: false)))
      }
      return .map(MapValue(fields))
    case .delete, .transform:
      throw refused(
        "a FieldValue other than a vector stands there", "Use one in a write, as a field's value.")
    }
  }

  /// Refuses what is deeper than any document before it is walked further.
  private func checkDepth() throws(FirestoreError) {
    guard place.count <= 2 * DocumentLimits.depth else {
      throw refused(
        "maps and arrays are nested deeper than \(DocumentLimits.depth) levels", "Flatten them.")
    }
  }

  private func model<Value>(
    _ make: () throws(DocumentError) -> Value
  ) throws(FirestoreError) -> Value {
    do throws(DocumentError) {
      return try make()
    } catch {
      throw refused("the value is invalid", error.message)
    }
  }

  private func refused(_ why: String, _ remedy: String) -> FirestoreError {
    let field = place.isEmpty ? what : "'\(place.joined(separator: "."))'"
    return FirestoreError(.invalidArgument, "At \(field), \(why). \(remedy)")
  }
}

/// An optional of any type, to look into one that is hidden in an `Any`.
private protocol OptionalValue {
  var wrapped: Any? { get }
}

extension Optional: OptionalValue {
  fileprivate var wrapped: Any? { self }
}
