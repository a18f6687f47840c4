import ConiferDocument
import ConiferDocumentSync
import ConiferStorage
import ConiferWire
import Foundation

/// Why a case cannot be read or run.
struct ScenarioError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// Reads the values that the cases of the specification are made of.
enum ScenarioJSON {
  typealias Object = [String: Any]

  /// The database that the bloom filters of the cases were made for.
  static let database = DatabaseID(project: "test-project")

  // MARK: Plain values

  static func object(_ json: Any?) throws -> Object {
    guard let object = json as? Object else { throw wrong("an object", json) }
    return object
  }

  /// An object of which every key is known: what nobody reads would make a case pass that is not met.
  static func object(_ json: Any?, of keys: Set<String>) throws -> Object {
    let object = try object(json)
    for key in object.keys.sorted() where !keys.contains(key) {
      throw ScenarioError("nobody knows the key \(key) of \(object.keys.sorted())")
    }
    return object
  }

  static func list(_ json: Any?) throws -> [Any] {
    guard let list = json as? [Any] else { throw wrong("a list", json) }
    return list
  }

  static func text(_ json: Any?) throws -> String {
    guard let text = json as? String else { throw wrong("a text", json) }
    return text
  }

  static func texts(_ json: Any?) throws -> [String] { try list(json ?? []).map(text) }

  static func number(_ json: Any?) throws -> Int {
    guard let number = json as? NSNumber, let exact = Int(exactly: number) else {
      throw wrong("a number", json)
    }
    return exact
  }

  static func flag(_ json: Any?) throws -> Bool {
    guard let number = json as? NSNumber else { throw wrong("true or false", json) }
    return number.boolValue
  }

  static func targets(_ json: Any?) throws -> [TargetID] {
    try list(json ?? []).map { try target($0) }
  }

  static func target(_ json: Any?) throws -> TargetID {
    guard let number = TargetID(exactly: try number(json)) else { throw wrong("a target", json) }
    return number
  }

  static func wrong(_ wanted: String, _ json: Any?) -> ScenarioError {
    ScenarioError("\(wanted) was expected, not \(json.map { "\($0)" } ?? "nothing")")
  }

  // MARK: Documents

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

  /// Versions are microseconds since 1970.
  static func time(_ json: Any?) throws -> ConiferDocument.Timestamp {
    try ConiferDocument.Timestamp(microseconds: Int64(try number(json)))
  }

  static func document(_ json: Any?) throws -> Document {
    let json = try object(json, of: ["key", "version", "createTime", "value", "options"])
    let path = try DocumentPath(try text(json["key"]))
    let options = try object(
      json["options"] ?? Object(), of: ["hasLocalMutations", "hasCommittedMutations"])
    let writes: Document.Writes =
      if options["hasLocalMutations"] as? Bool == true {
        .pending
      } else if options["hasCommittedMutations"] as? Bool == true {
        .committed
      } else {
        .synced
      }
    let version = try time(json["version"])
    guard case .map(let fields) = value(json["value"] ?? NSNull()) else {
      return Document(path, .missing, version: version, writes: writes)
    }
    return Document(path, .found(fields), version: version, writes: writes)
  }

  static func fields(_ json: Any?) throws -> [(String, WriteValue)] {
    try object(json).sorted { $0.key < $1.key }.map { name, json in
      (name, json as? String == "<DELETE>" ? .delete : .value(value(json)))
    }
  }

  // MARK: Queries

  static func query(_ json: Any?) throws -> DocumentQuery {
    if let path = json as? String { return try query(["path": path]) }
    let json = try object(
      json, of: ["path", "collectionGroup", "filters", "orderBys", "limit", "limitType"])
    var query = DocumentQuery(try source(json), in: database)
    for filter in try list(json["filters"] ?? []) {
      let parts = try list(filter)
      guard parts.count == 3, let test = FieldFilter.Operator(rawValue: try text(parts[1])) else {
        throw wrong("a filter", filter)
      }
      query = try query.filtered(
        .field(try ConiferDocument.FieldPath(dotted: try text(parts[0])), test, value(parts[2])))
    }
    for order in try list(json["orderBys"] ?? []) {
      let parts = try texts(order)
      guard parts.count == 2, ["asc", "desc"].contains(parts[1]) else {
        throw wrong("an order", order)
      }
      query = try query.ordered(
        by: try ConiferDocument.FieldPath(dotted: parts[0]),
        parts[1] == "desc" ? .descending : .ascending)
    }
    guard let limit = json["limit"] else { return query }
    switch json["limitType"] as? String ?? "LimitToFirst" {
    case "LimitToFirst": return try query.limited(to: try number(limit))
    case "LimitToLast": return try query.limited(toLast: try number(limit))
    case let other: throw wrong("a limit", other)
    }
  }

  private static func source(_ json: Object) throws -> DocumentQuery.Source {
    if let group = json["collectionGroup"] as? String { return .group(group) }
    let path = try text(json["path"])
    if let document = try? DocumentPath(path) { return .document(document) }
    return .collection(try CollectionPath(path))
  }

  /// The cases do not mean that a listener waits for the server, also where they say so.
  static func options(_ json: Any?) throws -> ListenOptions {
    let json = try object(
      json ?? Object(), of: ["includeMetadataChanges", "source", "waitForSyncWhenOnline"])
    let source: ListenOptions.Source =
      switch json["source"] as? String ?? "default" {
      case "default": .default
      case "cache": .cache
      case let other: throw wrong("a source", other)
      }
    return ListenOptions(
      includesMetadataChanges: try json["includeMetadataChanges"].map { try flag($0) } ?? true,
      source: source)
  }

  // MARK: What a server says

  static func error(_ json: Any?) throws -> StatusError {
    let json = try object(json, of: ["code", "message"])
    guard let code = StatusCode(rawValue: try number(json["code"])), code != .ok else {
      throw wrong("an error", json)
    }
    return StatusError(code, json["message"] as? String ?? "The case says so.")
  }

  // MARK: Indexes

  /// The text of an index configuration, which a case has as a text or as what the text says.
  static func indexConfiguration(_ json: Any) throws -> IndexConfiguration {
    if let text = json as? String { return try IndexConfiguration(json: text) }
    let data = try JSONSerialization.data(withJSONObject: try object(json))
    return try IndexConfiguration(json: String(decoding: data, as: UTF8.self))
  }

  /// An index as the vendor's tool exports it, or as the reference keeps it: with numbers for kinds, and paths in segments.
  static func index(_ json: Any) throws -> DocumentIndex {
    let json = try object(
      json,
      of: [
        "collectionGroup", "queryScope", "fields", "segments", "indexId", "indexState", "state",
      ])
    let fields = try list(json["fields"] ?? json["segments"]).map { json in
      let json = try object(json, of: ["fieldPath", "order", "arrayConfig", "kind"])
      let path =
        if let text = json["fieldPath"] as? String {
          try ConiferDocument.FieldPath(dotted: text)
        } else {
          try ConiferDocument.FieldPath(
            try texts(
              try object(json["fieldPath"], of: ["segments", "offset", "len"])["segments"]))
        }
      return DocumentIndex.Field(
        path, try kind(json["kind"] ?? json["arrayConfig"] ?? json["order"]))
    }
    let scope: DocumentIndex.Scope =
      json["queryScope"] as? String == "COLLECTION_GROUP" ? .group : .collection
    return try DocumentIndex(try text(json["collectionGroup"]), fields, scope: scope)
  }

  private static func kind(_ json: Any?) throws -> DocumentIndex.Field.Kind {
    switch json.map({ "\($0)" }) {
    case "0", "ASCENDING": .ascending
    case "1", "DESCENDING": .descending
    case "2", "CONTAINS": .contains
    default: throw wrong("the kind of an index's field", json)
    }
  }

  static func token(_ json: Any?) -> [UInt8] { Array((json as? String ?? "").utf8) }

  /// A bitmap that is no base 64 is a filter that says nothing.
  static func bloomFilter(_ json: Any?) throws -> BloomFilter? {
    guard let json else { return nil }
    let (map, bits) = (try object(json), try object(try object(json)["bits"]))
    guard let bitmap = Data(base64Encoded: bits["bitmap"] as? String ?? "") else { return nil }
    return BloomFilter(
      bitmap: Array(bitmap), padding: bits["padding"] as? Int ?? 0,
      hashCount: map["hashCount"] as? Int ?? 0)
  }
}
