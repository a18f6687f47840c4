package import ConiferDocument
package import ConiferWire

/// An aggregation of a request, with its name in the answer.
package struct Aggregation: Sendable {
  /// What it is called.
  package private(set) var alias: String
  package let aggregate: Aggregate
  /// How far is counted; nil for the end.
  private let upTo: Int?

  /// - Parameters:
  ///   - alias: empty for one that the server makes up.
  ///   - upTo: how far is counted, from 1; nil for the end.
  package init(alias: String, aggregate: Aggregate, upTo: Int? = nil) {
    self.alias = alias
    self.aggregate = aggregate
    self.upTo = upTo
  }

  /// The value in the answer.
  ///
  /// - Parameter isEmpty: whether the query asks for no documents.
  package func shown(_ value: DocumentValue, isEmpty: Bool) -> DocumentValue {
    switch (aggregate, value) {
    case (.count, .integer(let count)):
      .integer(isEmpty ? 0 : min(count, upTo.map { Int64($0) } ?? count))
    case (.sum, _) where isEmpty: .integer(0)
    case (.average, _) where isEmpty: .null
    default: value
    }
  }

  /// The aggregations, of which those without a name are called `field_1` and so on.
  ///
  /// - Throws: `invalidArgument` when two have one name.
  package static func named(_ aggregations: [Aggregation]) throws(StatusError) -> [Aggregation] {
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
