/// A condition on one field, or several conditions joined by `and` and `or` to any depth.
public indirect enum Filter: Sendable, Hashable {
  /// A condition on one field.
  case field(FieldFilter)
  /// All of these.
  case and([Filter])
  /// One of these at least.
  case or([Filter])

  /// A condition on one field.
  public static func field(
    _ field: FieldPath, _ operator: FieldFilter.Operator, _ value: DocumentValue
  ) -> Filter {
    .field(FieldFilter(field, `operator`, value))
  }

  /// The conditions on fields, in order.
  public var fieldFilters: [FieldFilter] {
    switch self {
    case .field(let filter): return [filter]
    case .and(let filters), .or(let filters): return filters.flatMap(\.fieldFilters)
    }
  }

  /// Whether a document that exists meets the conditions.
  public func matches(_ document: Document) -> Bool {
    switch self {
    case .field(let filter): return filter.matches(document)
    case .and(let filters): return filters.allSatisfy { $0.matches(document) }
    case .or(let filters): return filters.contains { $0.matches(document) }
    }
  }

  /// The normal form; none when there is no condition at all.
  ///
  /// Nested `and`s are joined, and so are nested `or`s; empty ones are dropped, one with a single
  /// condition becomes that condition, and the conditions are sorted without repetition.
  public var normalized: Filter? {
    switch self {
    case .field: return self
    case .and(let filters):
      return Filter.joined(filters, Filter.and) {
        guard case .and(let inner) = $0 else { return nil }
        return inner
      }
    case .or(let filters):
      return Filter.joined(filters, Filter.or) {
        guard case .or(let inner) = $0 else { return nil }
        return inner
      }
    }
  }

  private static func joined(
    _ filters: [Filter], _ join: ([Filter]) -> Filter, _ inner: (Filter) -> [Filter]?
  ) -> Filter? {
    let parts = filters.compactMap(\.normalized).flatMap { inner($0) ?? [$0] }
    let sorted = parts.map { ($0, $0.canonical) }.sorted { $0.1.compareUTF8($1.1) < 0 }
    var kept: [Filter] = []
    for (part, _) in sorted where kept.last != part { kept.append(part) }
    return kept.count > 1 ? join(kept) : kept.first
  }

  /// How many alternatives `disjunctions` has, at most `Int.max`.
  public var disjunctionCount: Int {
    func product(_ a: Int, _ b: Int) -> Int {
      let (result, overflows) = a.multipliedReportingOverflow(by: b)
      return overflows ? .max : result
    }
    func sum(_ a: Int, _ b: Int) -> Int {
      let (result, overflows) = a.addingReportingOverflow(b)
      return overflows ? .max : result
    }
    switch self {
    case .field(let filter):
      let isList = filter.operator == .in || filter.operator == .arrayContainsAny
      return isList ? max(1, filter.list.count) : 1
    case .and(let filters): return filters.reduce(1) { product($0, $1.disjunctionCount) }
    case .or(let filters): return max(1, filters.reduce(0) { sum($0, $1.disjunctionCount) })
    }
  }

  /// The conditions as a list of alternatives, each a list of conditions that must all be met.
  ///
  /// `in` and `arrayContainsAny` become an alternative for each value. The numbers of alternatives
  /// multiply: check `disjunctionCount` first.
  public var disjunctions: [[FieldFilter]] {
    switch self {
    case .field(let filter):
      switch filter.operator {
      case .in: return filter.list.map { [FieldFilter(filter.field, .equal, $0)] }
      case .arrayContainsAny:
        return filter.list.map { [FieldFilter(filter.field, .arrayContains, $0)] }
      default: return [[filter]]
      }
    case .and(let filters):
      return filters.reduce([[]]) { alternatives, filter in
        let further = filter.disjunctions
        return alternatives.flatMap { first in further.map { first + $0 } }
      }
    case .or(let filters): return filters.flatMap(\.disjunctions)
    }
  }
}
