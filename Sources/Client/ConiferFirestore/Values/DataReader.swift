import ConiferDocument

/// Turns what an app gives, values of Swift and of Foundation, into values of fields.
///
/// It checks that a value can be one at all; the model checks the rest.
struct DataReader {
  /// The names and places on the way to the value that is read; for messages.
  var place: [String] = []
  /// What the value belongs to, for messages where no field is named.
  let what: String
  /// The database of the first reference that was read.
  var firestore: Firestore?

  private init(_ what: String) { self.what = what }

  /// The fields of a document.
  ///
  /// - Throws: `invalidArgument`, naming the field.
  static func data(_ data: [String: Any]) throws(FirestoreError) -> [(String, WriteValue)] {
    var reader = DataReader("the data")
    return try reader.pairs(data)
  }

  /// The fields of an update, by their paths.
  ///
  /// - Parameter fields: values by `String` or `FieldPath`.
  /// - Throws: `invalidArgument`, naming the field.
  static func update(
    _ fields: [AnyHashable: Any]
  ) throws(FirestoreError) -> [(ConiferDocument.FieldPath, WriteValue)] {
    var pairs: [(ConiferDocument.FieldPath, WriteValue)] = []
    for (name, value) in fields {
      let path = try FieldPath.checked(name)
      var reader = DataReader("the update")
      reader.place = path.names
      pairs.append((path, try reader.read(value)))
    }
    return pairs.sorted { $0.0 < $1.0 }
  }

  /// The values of a union or a removal.
  static func elements(
    _ elements: [Any], of what: String
  ) throws(FirestoreError) -> [DocumentValue] {
    var values: [DocumentValue] = []
    for element in elements {
      var reader = DataReader(what)
      values.append(try reader.plain(try reader.read(element), isElement: true))
    }
    return values
  }

  /// A value that a query compares with.
  ///
  /// - Parameters:
  ///   - value: what the app gave.
  ///   - what: what it is for, such as `the filter on 'size'`.
  ///   - isList: whether it is a list of values, which may be arrays.
  static func value(
    _ value: Any, of what: String, isList: Bool = false
  ) throws(FirestoreError) -> DocumentValue {
    var reader = DataReader(what)
    let read = try reader.read(value)
    guard isList, case .array(let elements) = read else {
      return try reader.plain(read, isElement: false)
    }
    var values: [DocumentValue] = []
    for element in elements { values.append(try reader.plain(element, isElement: false)) }
    return .array(values)
  }

  /// A value to decode, and the database of the references within it.
  static func decodable(
    _ value: Any
  ) throws(FirestoreError) -> (value: DocumentValue, firestore: Firestore?) {
    var reader = DataReader("the data")
    let read = try reader.read(value)
    return (try reader.plain(read, isElement: false), reader.firestore)
  }
}
