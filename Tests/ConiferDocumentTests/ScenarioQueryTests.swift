import ConiferDocument
import Foundation
import Testing

/// The queries of the reference's cases, which are not published: beside the package, or beside the
/// folder of its worktrees.
@Suite struct `Queries of the reference's cases` {
  static let folder: URL? = {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    return ["../shared/scenarios/documents", "../../shared/scenarios/documents"]
      .map { root.appendingPathComponent($0).standardizedFileURL }
      .first { FileManager.default.fileExists(atPath: $0.path) }
  }()

  private static func value(_ json: Any) -> DocumentValue {
    switch json {
    case is NSNull: return .null
    case let text as String: return .string(text)
    case let list as [Any]: return .array(list.map(value))
    case let map as [String: Any]: return .map(MapValue(map.map { ($0, value($1)) }))
    case let number as NSNumber:
      if number.objCType.pointee == 0x63 { return .boolean(number.boolValue) }
      return Int64(exactly: number).map(DocumentValue.integer) ?? .double(number.doubleValue)
    default: return .null
    }
  }

  private static func query(_ json: Any) throws -> DocumentQuery {
    guard let map = json as? [String: Any] else { return try query(["path": json]) }
    let path = map["path"] as? String ?? ""
    let source: DocumentQuery.Source
    if let group = map["collectionGroup"] as? String {
      source = .group(group)
    } else if let document = try? DocumentPath(path) {
      source = .document(document)
    } else {
      source = .collection(try CollectionPath(path))
    }
    var query = DocumentQuery(source, in: Writes.database)
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

  @Test(.enabled(if: folder != nil, "the reference's cases are not here"))
  func `are valid, and match what the cases add to them`() throws {
    let folder = try #require(Self.folder)
    var documents = 0
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() {
      let data = try Data(contentsOf: folder.appendingPathComponent(name))
      let file = try #require(
        try JSONSerialization.jsonObject(with: data) as? [String: [String: Any]])
      for (title, test) in file {
        for step in test["steps"] as? [[String: Any]] ?? [] {
          for event in step["expectedSnapshotEvents"] as? [[String: Any]] ?? [] {
            let query = try Self.query(try #require(event["query"]))
            try query.validate()
            for entry in event["added"] as? [[String: Any]] ?? [] {
              guard let key = entry["key"] as? String,
                case .map(let fields) = Self.value(entry["value"] as Any)
              else { continue }
              let document = Document(try DocumentPath(key), .found(fields))
              #expect(query.target.matches(document), "\(title): \(query.canonical), \(document)")
              documents += 1
            }
          }
        }
      }
    }
    #expect(documents > 100)
  }
}
