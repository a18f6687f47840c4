import ConiferDocument
import TestSupport

/// Documents and queries at random, few enough in kind that queries find some.
enum RandomQueries {
  static let fields = ["a", "b", "m.x", "list", "__name__"].map(Writes.field)
  static let collections = ["c", "c/d1/c", "c/d2/c", "e"]
  static let ids = ["d1", "d2", "d3", "__id7__", "__id12__", "é"]

  static func scalar(_ random: inout Seeded) -> DocumentValue {
    random.pick([
      nil, false, true, .double(.nan), 0, -0.0, 1, 1.0, 2, 2.5, "", "a", "b", [1], [1, 2], [:],
      ["x": 1],
      .timestamp(.zero), .integer(1 << 53), .integer(1 << 53 + 1),
    ])
  }

  static func documents(_ random: inout Seeded) -> [Document] {
    collections.flatMap { collection in
      ids.compactMap { id -> Document? in
        guard let path = try? CollectionPath(collection).document(id) else { return nil }
        if random.chance(10) { return Document(path, .missing) }
        var fields = MapValue.empty
        for name in ["a", "b"] where random.chance(85) { fields[name] = scalar(&random) }
        if random.chance(80) { fields["m"] = ["x": scalar(&random)] }
        if random.chance(80) {
          fields["list"] = .array((0..<random.below(4)).map { _ in scalar(&random) })
        }
        return Document(path, .found(fields))
      }
    }.shuffled(using: &random)
  }

  private static func filter(_ random: inout Seeded, in source: DocumentQuery.Source) -> FieldFilter
  {
    let field = random.pick(fields)
    let test = random.pick(FieldFilter.Operator.allCases)
    func one(_ random: inout Seeded) -> DocumentValue {
      guard field.isDocumentID else { return scalar(&random) }
      if case .group = source { return .string(random.pick(collections) + "/" + random.pick(ids)) }
      return .string(random.pick(ids))
    }
    let isList = [.in, .notIn, .arrayContainsAny].contains(test)
    let value = isList ? .array((0..<1 + random.below(3)).map { _ in one(&random) }) : one(&random)
    return FieldFilter(field, test, value)
  }

  static func tree(
    _ random: inout Seeded, in source: DocumentQuery.Source, depth: Int = 2
  ) -> Filter {
    if depth == 0 || random.chance(40) { return .field(filter(&random, in: source)) }
    let parts = (0..<random.below(4)).map { _ in tree(&random, in: source, depth: depth - 1) }
    return random.chance(50) ? .and(parts) : .or(parts)
  }

  /// A query that is valid: what is refused on the way is left out.
  static func query(_ random: inout Seeded, over documents: [Document]) -> DocumentQuery {
    let source: DocumentQuery.Source
    switch random.below(6) {
    case 0: source = .group("c")
    case 1: source = .document(Writes.path("c/d1"))
    default: source = (try? .collection(CollectionPath(random.pick(collections)))) ?? .group("c")
    }
    var query = DocumentQuery(source, in: Writes.database)
    for _ in 0..<random.below(3) {
      if let next = try? query.filtered(tree(&random, in: source)) { query = next }
    }
    for _ in 0..<random.below(3) {
      let direction = random.pick([Direction.ascending, .descending])
      if let next = try? query.ordered(by: random.pick(fields), direction) { query = next }
    }
    if random.chance(50) { query = bounded(query, &random, over: documents) }
    if random.chance(60) {
      let count = 1 + random.below(6)
      let next =
        random.chance(50) ? try? query.limited(to: count) : try? query.limited(toLast: count)
      query = next ?? query
    }
    return query
  }

  private static func bounded(
    _ query: DocumentQuery, _ random: inout Seeded, over documents: [Document]
  ) -> DocumentQuery {
    let document = random.pick(documents)
    let values = query.explicitOrders.prefix(1 + random.below(2)).map { order -> DocumentValue in
      order.field.isDocumentID ? .string(random.pick(ids)) : scalar(&random)
    }
    let next: DocumentQuery?
    switch random.below(6) {
    case 0: next = try? query.starting(at: values)
    case 1: next = try? query.starting(after: values)
    case 2: next = try? query.ending(at: values)
    case 3: next = try? query.starting(at: values).ending(before: document)
    case 4: next = try? query.starting(after: document)
    default: next = try? query.starting(at: document).ending(at: values)
    }
    return next ?? query
  }
}
