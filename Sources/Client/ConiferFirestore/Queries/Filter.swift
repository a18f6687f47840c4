import ConiferDocument

/// A condition on the fields of a document, or several conditions joined by `and` or `or`.
///
/// A query that is given an invalid filter reports the error when it is used.
public struct Filter: Sendable {
  let content: Result<ConiferDocument.Filter, FirestoreError>

  /// Documents that meet all conditions; none at all leaves the query as it is.
  public static func andFilter(_ filters: [Filter]) -> Filter {
    Filter(joining: filters) { .and($0) }
  }

  /// Documents that meet one condition at least; none at all leaves the query as it is.
  public static func orFilter(_ filters: [Filter]) -> Filter {
    Filter(joining: filters) { .or($0) }
  }

  private init(
    joining filters: [Filter], _ join: ([ConiferDocument.Filter]) -> ConiferDocument.Filter
  ) {
    content = Result { () throws(FirestoreError) in
      var parts: [ConiferDocument.Filter] = []
      for filter in filters { parts.append(try filter.content.get()) }
      return join(parts)
    }
  }

  init(_ field: Any, _ operation: FieldFilter.Operator, _ value: Any) {
    content = Result { () throws(FirestoreError) in
      let path = try FieldPath.checked(field)
      let isList = [.in, .notIn, .arrayContainsAny].contains(operation)
      let what = "the filter '\(operation.rawValue)' on '\(path)'"
      return .field(path, operation, try DataReader.value(value, of: what, isList: isList))
    }
  }
}

extension Filter: Hashable {
  /// Whether both are the same condition.
  public static func == (a: Filter, b: Filter) -> Bool {
    switch (a.content, b.content) {
    case (.success(let x), .success(let y)): x == y
    case (.failure(let x), .failure(let y)): x.message == y.message
    default: false
    }
  }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) {
    if case .success(let filter) = content { hasher.combine(filter) }
  }
}
