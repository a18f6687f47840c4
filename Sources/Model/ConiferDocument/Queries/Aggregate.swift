/// An aggregation over a query's documents, which is their count, or the sum or average of a field.
public enum Aggregate: Sendable, Hashable {
  /// How many there are.
  case count
  /// The sum of the numbers in a field: an integer when all are and it fits 64 bits, else a double;
  /// 0 of none.
  case sum(FieldPath)
  /// The average of the numbers in a field, a double; null of none.
  case average(FieldPath)

  /// The field; none for the count.
  public var field: FieldPath? {
    switch self {
    case .count: return nil
    case .sum(let field), .average(let field): return field
    }
  }

  /// The aggregates of documents.
  ///
  /// Only documents that have all fields of all aggregates count, as on the server; of those, what is
  /// no number is left out of sums and averages.
  ///
  /// - Parameters:
  ///   - aggregates: what to compute.
  ///   - documents: what the query found.
  /// - Returns: a value for each aggregate, in their order.
  /// - Throws: `invalidQuery` for more than 5 aggregates, or none, and for a field that no document has: `__name__`
  ///   or another `__…__`.
  public static func evaluate(
    _ aggregates: [Aggregate], over documents: some Sequence<Document>
  ) throws(DocumentError) -> [DocumentValue] {
    try check(aggregates)
    let fields = aggregates.compactMap(\.field)
    let counted = documents.filter { document in
      guard let values = document.fields else { return false }
      return fields.allSatisfy { values[$0] != nil }
    }
    return aggregates.map { aggregate in
      guard let field = aggregate.field else { return .integer(Int64(counted.count)) }
      let total = Total(counted.lazy.compactMap { $0.fields?[field]?.number })
      if case .sum = aggregate { return total.sum }
      return total.average
    }
  }

  /// Checks what can be checked before documents are read.
  ///
  /// - Throws: `invalidQuery`, as `evaluate`.
  package static func check(_ aggregates: [Aggregate]) throws(DocumentError) {
    guard (1...DocumentLimits.aggregates).contains(aggregates.count) else {
      throw DocumentError(
        .invalidQuery,
        "A query asks for \(aggregates.count) aggregates. Ask for one to "
          + "\(DocumentLimits.aggregates) at once.")
    }
    for field in aggregates.compactMap(\.field) {
      try field.checkExists("A sum or an average")
      guard field.isDocumentID else { continue }
      throw DocumentError(
        .invalidQuery,
        "A sum or an average names '\(field)', which is a document's name and no number. "
          + "Name another field.")
    }
  }
}

/// A sum whose integers are exact whatever the order.
private struct Total {
  private var count = 0
  private var integers: Int128 = 0
  private var doubles: Double?

  init(_ numbers: some Sequence<Number>) {
    for number in numbers {
      count += 1
      switch number {
      case .integer(let value): integers += Int128(value)
      case .double(let value): doubles = (doubles ?? 0) + value
      }
    }
  }

  var sum: DocumentValue {
    if let doubles { return .double(doubles + Double(integers)) }
    return Int64(exactly: integers).map(DocumentValue.integer) ?? .double(Double(integers))
  }

  var average: DocumentValue {
    guard count > 0 else { return .null }
    return .double(((doubles ?? 0) + Double(integers)) / Double(count))
  }
}
