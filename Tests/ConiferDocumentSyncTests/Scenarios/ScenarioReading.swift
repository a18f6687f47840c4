import ConiferDocument
import ConiferDocumentSync
import ConiferWire
import Foundation
import Testing

/// Reads what the cases of the specification hold.
enum ScenarioReading {
  typealias Object = [String: Any]

  /// The database that the bloom filters of the cases were made for.
  static let database = DatabaseID(project: "test-project")

  static func value(_ json: Any) -> DocumentValue {
    switch json {
    case is NSNull: return .null
    case let text as String: return .string(text)
    case let list as [Any]: return .array(list.map(value))
    case let map as Object: return .map(MapValue(map.map { ($0, value($1)) }))
    case let number as NSNumber:
      if number.objCType.pointee == 0x63 { return .boolean(number.boolValue) }
      return Int64(exactly: number).map(DocumentValue.integer) ?? .double(number.doubleValue)
    default: return .null
    }
  }

  static func time(_ json: Any?) throws -> Timestamp {
    try Timestamp(microseconds: (json as? NSNumber)?.int64Value ?? 0)
  }

  static func numbers(_ json: Any?) -> [TargetID] {
    (json as? [NSNumber] ?? []).map(\.int32Value)
  }

  static func query(_ json: Any) throws -> DocumentQuery {
    guard let map = json as? Object else { return try query(["path": json]) }
    let path = map["path"] as? String ?? ""
    let source: DocumentQuery.Source
    if let group = map["collectionGroup"] as? String {
      source = .group(group)
    } else if let document = try? DocumentPath(path) {
      source = .document(document)
    } else {
      source = .collection(try CollectionPath(path))
    }
    var query = DocumentQuery(source, in: ScenarioReading.database)
    for filter in map["filters"] as? [[Any]] ?? [] {
      let test = try #require((filter[1] as? String).flatMap(FieldFilter.Operator.init(rawValue:)))
      let field = try FieldPath(dotted: try #require(filter[0] as? String))
      query = try query.filtered(.field(field, test, value(filter[2])))
    }
    for order in map["orderBys"] as? [[String]] ?? [] {
      query = try query.ordered(
        by: try FieldPath(dotted: order[0]), order[1] == "desc" ? .descending : .ascending)
    }
    guard let limit = map["limit"] as? Int else { return query }
    return map["limitType"] as? String == "LimitToLast"
      ? try query.limited(toLast: limit) : try query.limited(to: limit)
  }

  static func document(_ json: Object) throws -> Document {
    let path = try DocumentPath(try #require(json["key"] as? String))
    let options = json["options"] as? [String: Bool] ?? [:]
    let writes: Document.Writes =
      options["hasLocalMutations"] == true
      ? .pending : options["hasCommittedMutations"] == true ? .committed : .synced
    guard case .map(let fields) = value(json["value"] ?? NSNull()) else {
      return Document(path, .missing, version: try time(json["version"]), writes: writes)
    }
    return Document(path, .found(fields), version: try time(json["version"]), writes: writes)
  }

  static func fields(_ json: Any) -> [(String, WriteValue)] {
    (json as? Object ?? [:]).map { name, json in
      (name, json as? String == "<DELETE>" ? .delete : .value(value(json)))
    }
  }

  /// The cases do not mean that a listener waits for the server, also where they say so.
  static func options(_ json: Any?) -> ListenOptions {
    let map = json as? Object ?? [:]
    return ListenOptions(
      includesMetadataChanges: map["includeMetadataChanges"] as? Bool ?? true,
      source: map["source"] as? String == "cache" ? .cache : .default)
  }

  static func error(_ json: Any?) -> StatusError? {
    guard let code = (json as? Object)?["code"] as? Int else { return nil }
    return StatusError(StatusCode(rawValue: code) ?? .unknown, "The case says so.")
  }

  static func bloomFilter(_ json: Any?) -> BloomFilter? {
    guard let map = json as? Object, let bits = map["bits"] as? Object,
      let bitmap = Data(base64Encoded: bits["bitmap"] as? String ?? "")
    else { return nil }
    return BloomFilter(
      bitmap: Array(bitmap), padding: bits["padding"] as? Int ?? 0,
      hashCount: map["hashCount"] as? Int ?? 0)
  }
}
