import ConiferDocument
import Foundation

/// Turns values of fields into what an app reads.
///
/// Numbers are `NSNumber`, so that they can be cast to `Int`, to `Double` and to any other type of
/// number that holds them, on Linux as on Apple systems: with an `Int` in an `Any`, `as? Double`
/// would fail whenever a number happens to be whole.
struct DataWriter {
  let firestore: Firestore
  /// What stands for server timestamps that the server has yet to say.
  var behavior = ServerTimestampBehavior.none

  /// The fields of a document or a map.
  func data(_ map: MapValue) -> [String: Any] {
    var data = [String: Any](minimumCapacity: map.count)
    for field in map.fields { data[field.name] = value(field.value) }
    return data
  }

  /// A field's value.
  func value(_ value: DocumentValue) -> Any {
    switch value {
    case .null: NSNull()
    case .boolean(let flag): flag
    case .integer(let number): NSNumber(value: number)
    case .double(let number): NSNumber(value: number)
    case .timestamp(let time): Timestamp(time)
    case .serverTimestamp: self.value(value.resolved(behavior.model))
    case .string(let text): text
    case .bytes(let bytes): Data(bytes)
    case .reference(let name): DocumentReference(firestore, name)
    case .geoPoint(let point): GeoPoint(point)
    case .array(let elements): elements.map { self.value($0) }
    case .vector(let numbers): VectorValue(numbers)
    case .map(let map): data(map)
    }
  }
}
