import ConiferDocument

/// An aggregation over a query's documents, which is their count, or the sum or average of a field.
public struct AggregateField: Sendable {
  let content: Result<Aggregate, FirestoreError>

  private init(_ content: Result<Aggregate, FirestoreError>) { self.content = content }

  private init(
    _ field: Any, _ make: (ConiferDocument.FieldPath) -> Aggregate
  ) {
    content = Result { () throws(FirestoreError) in make(try FieldPath.checked(field)) }
  }

  /// How many documents there are.
  public static func count() -> AggregateField { AggregateField(.success(.count)) }

  /// The sum of the numbers in a field; 0 of none.
  ///
  /// - Parameter field: such as `size` or `address.floor`.
  public static func sum(_ field: String) -> AggregateField { AggregateField(field) { .sum($0) } }

  /// The sum of the numbers in a field; 0 of none.
  public static func sum(_ path: FieldPath) -> AggregateField { AggregateField(path) { .sum($0) } }

  /// The average of the numbers in a field; `NSNull` of none.
  ///
  /// - Parameter field: such as `size` or `address.floor`.
  public static func average(_ field: String) -> AggregateField {
    AggregateField(field) { .average($0) }
  }

  /// The average of the numbers in a field; `NSNull` of none.
  public static func average(_ path: FieldPath) -> AggregateField {
    AggregateField(path) { .average($0) }
  }
}

extension AggregateField: Hashable {
  /// Whether both are computed in the same way of the same field.
  public static func == (a: AggregateField, b: AggregateField) -> Bool {
    switch (a.content, b.content) {
    case (.success(let x), .success(let y)): x == y
    case (.failure(let x), .failure(let y)): x.message == y.message
    default: false
    }
  }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    if case .success(let aggregate) = content { hasher.combine(aggregate) }
  }
}
