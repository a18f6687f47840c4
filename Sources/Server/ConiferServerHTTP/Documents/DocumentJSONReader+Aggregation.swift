import ConiferDocument
import ConiferDocumentServer
import ConiferTree
import ConiferWire

extension DocumentJSONReader {
  /// An aggregation whose object was begun.
  mutating func aggregation() throws(JSONError) -> Aggregation {
    var alias = ""
    var upTo: Int?
    var kinds: [Aggregate] = []
    try rest { (reader, key) throws(JSONError) in
      switch key {
      case "alias": alias = try reader.text(key)
      case "count":
        try reader.members(key) { (reader, key) throws(JSONError) in
          guard key == "upTo" else { return try reader.unknown(key) }
          upTo = try reader.count(key)
          if upTo == 0 { throw reader.refused("The value of upTo is a number from 1.") }
        }
        kinds.append(.count)
      case "sum": kinds.append(.sum(try reader.aggregatedField(key)))
      case "avg": kinds.append(.average(try reader.aggregatedField(key)))
      default: try reader.unknown(key)
      }
    }
    guard kinds.count == 1, let kind = kinds.first else {
      throw refused("An aggregation is one of count, sum and avg.")
    }
    return Aggregation(alias: alias, aggregate: kind, upTo: upTo)
  }

  private mutating func aggregatedField(_ key: String) throws(JSONError) -> FieldPath {
    var field: FieldPath?
    try members(key) { (reader, key) throws(JSONError) in
      guard key == "field" else { return try reader.unknown(key) }
      field = try reader.field()
    }
    guard let field else { throw refused("The \(key) of an aggregation has a field.") }
    return field
  }
}
