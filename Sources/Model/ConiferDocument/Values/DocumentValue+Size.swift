// Sizes as the service counts them for its limits.
extension DocumentValue {
  /// The bytes that the service counts for the value.
  public var size: Int {
    switch self {
    case .null, .boolean: return 1
    case .integer, .double, .timestamp, .serverTimestamp: return 8
    case .string(let text): return text.utf8.count + 1
    case .bytes(let bytes): return bytes.count
    case .reference(let name): return name.path.size
    case .geoPoint: return 16
    case .array(let values): return values.reduce(0) { $0 + $1.size }
    case .vector(let numbers): return 8 * numbers.count
    case .map(let map): return map.size
    }
  }
}

extension MapValue {
  /// The bytes that the service counts for the map: names with their ends, values, and 32.
  public var size: Int {
    fields.reduce(32) { $0 + $1.name.utf8.count + 1 + $1.value.size }
  }
}

extension DocumentPath {
  /// The bytes that the service counts for the document's name: ids with their ends, and 16; a
  /// numeric id counts 8.
  public var size: Int {
    var size = 16
    path.forEachSegment { size += NumericID.number(of: $0) == nil ? $0.count + 1 : 8 }
    return size
  }
}
