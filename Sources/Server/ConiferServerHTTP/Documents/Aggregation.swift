import ConiferDocument
import ConiferTree
import ConiferWire

/// A number that a request asks for, and what it is called in the answer.
struct Aggregation {
  fileprivate(set) var alias: String
  let aggregate: Aggregate
  /// How far is counted; nil for the end.
  fileprivate let upTo: Int?

  /// The value in the answer.
  ///
  /// - Parameter ofNone: whether the query is of no documents.
  func shown(_ value: DocumentValue, ofNone isOfNone: Bool) -> DocumentValue {
    switch (aggregate, value) {
    case (.count, .integer(let count)):
      .integer(isOfNone ? 0 : min(count, upTo.map { Int64($0) } ?? count))
    case (.sum, _) where isOfNone: .integer(0)
    case (.average, _) where isOfNone: .null
    default: value
    }
  }

  /// The aggregations, of which those without a name are called `field_1` and so on.
  ///
  /// - Throws: `invalidArgument` when two have one name.
  static func named(_ aggregations: [Aggregation]) throws(StatusError) -> [Aggregation] {
    var names = Set(aggregations.map(\.alias).filter { !$0.isEmpty })
    guard names.count == aggregations.count(where: { !$0.alias.isEmpty }) else {
      throw StatusError(.invalidArgument, "Two aggregations have one alias. Give each its own.")
    }
    var number = 1
    return aggregations.map { aggregation in
      var named = aggregation
      while named.alias.isEmpty {
        if names.insert("field_\(number)").inserted { named.alias = "field_\(number)" }
        number += 1
      }
      return named
    }
  }
}

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
