import ConiferDocument
import TestSupport

@testable import ConiferStorage

/// Documents, indexes and queries at random, few enough in kind that queries find some.
enum DocumentSamples {
  static let database = DatabaseID(project: "p")
  static let fields = ["a", "b", "m.x", "list"].map(field)
  static let collections = [
    "c", "c/d1/c", "c/d2/c", "e", "z/" + String(repeating: "z", count: 150) + "/c",
  ]
  .map(collection)
  static let ids =
    ["d1", "d2", "d3", "d33", "__id7__", "__id12__", "é"] + ["x", "y"].map { long + $0 }
  /// Longer than what rows hold.
  static let long = String(repeating: "long ", count: 50)

  static func field(_ text: String) -> FieldPath {
    guard let field = try? FieldPath(canonical: text) else {
      preconditionFailure("no field \(text)")
    }
    return field
  }

  static func collection(_ text: String) -> CollectionPath {
    guard let path = try? CollectionPath(text) else { preconditionFailure("no collection \(text)") }
    return path
  }

  static func path(_ text: String) -> DocumentPath {
    guard let path = try? DocumentPath(text) else { preconditionFailure("no document \(text)") }
    return path
  }

  static func scalar(_ random: inout Seeded) -> DocumentValue {
    random.pick([
      nil, false, true, .double(.nan), 0, -0.0, 1, 1.0, 2, 2.5, "", "a", "b", "a\u{0}", [1],
      [1, 2],
      [:], ["x": 1], .timestamp(.zero), .integer(1 << 53), .integer(1 << 53 + 1), .bytes([0, 255]),
      .string(long), .string(long + "a"), .string(long + "b"),
      .reference(DocumentName(path("c/d1"), in: database)),
    ])
  }

  static func documents(_ random: inout Seeded) -> [Document] {
    var documents: [Document] = []
    for collection in collections {
      for id in ids where random.chance(80) {
        guard let path = try? collection.document(id) else { continue }
        documents.append(document(path, &random))
      }
    }
    return documents.shuffled(using: &random)
  }

  static func document(_ path: DocumentPath, _ random: inout Seeded) -> Document {
    if random.chance(8) { return Document(path, random.pick([.missing, .unknown, .unseen])) }
    var fields = MapValue.empty
    for name in ["a", "b"] where random.chance(85) { fields[name] = scalar(&random) }
    if random.chance(80) { fields["m"] = ["x": scalar(&random)] }
    if random.chance(80) {
      fields["list"] = .array((0..<random.below(4)).map { _ in scalar(&random) })
    }
    return Document(path, .found(fields))
  }

  static func index(_ random: inout Seeded) -> DocumentIndex {
    while true {
      var fields = fields.shuffled(using: &random).prefix(1 + random.below(3)).map { path in
        let isArray = path == Self.fields[3] && random.chance(70)
        return DocumentIndex.Field(
          path, isArray ? .contains : random.pick([.ascending, .descending]))
      }
      if random.chance(20) {
        fields.append(DocumentIndex.Field(.documentID, random.pick([.ascending, .descending])))
      }
      let scope = random.pick([DocumentIndex.Scope.collection, .collection, .group])
      let id = random.pick(["c", "c", "e"])
      // Stores may hold indexes whose field that contains comes later.
      let isStored = fields.first?.kind == .descending
      let index =
        isStored
        ? try? DocumentIndex(stored: id, fields, scope: scope)
        : try? DocumentIndex(id, fields, scope: scope)
      if let index { return index }
    }
  }
}

// Queries.
extension DocumentSamples {
  private static func filter(
    _ random: inout Seeded, in source: DocumentQuery.Source
  ) -> FieldFilter {
    let field = random.pick(fields + [fields[0], fields[1], .documentID])
    let common: [FieldFilter.Operator] = [.equal, .equal, .equal, .lessThan, .greaterThanOrEqual]
    var test = random.pick(common + FieldFilter.Operator.allCases)
    if field == fields[3], random.chance(60) { test = .arrayContains }
    func one(_ random: inout Seeded) -> DocumentValue {
      guard field.isDocumentID else { return scalar(&random) }
      guard case .collection = source else {
        return .string("\(random.pick(collections))/\(random.pick(ids))")
      }
      return .string(random.pick(ids))
    }
    let isList = [.in, .notIn, .arrayContainsAny].contains(test)
    let value = isList ? .array((0..<1 + random.below(3)).map { _ in one(&random) }) : one(&random)
    return FieldFilter(field, test, value)
  }

  private static func conditions(
    _ random: inout Seeded, in source: DocumentQuery.Source, depth: Int = 2
  ) -> Filter {
    if depth == 0 || random.chance(50) { return .field(filter(&random, in: source)) }
    let parts = (0..<random.below(4)).map { _ in
      conditions(&random, in: source, depth: depth - 1)
    }
    return random.chance(60) ? .and(parts) : .or(parts)
  }

  /// A query that is valid: what is refused on the way is left out.
  static func query(_ random: inout Seeded, over documents: [Document]) -> DocumentQuery {
    let source: DocumentQuery.Source =
      switch random.below(12) {
      case 0...3: .group("c")
      case 4: .document(path("c/d1"))
      case 5: .collection(random.pick(collections))
      default: .collection(collections[0])
      }
    var query = DocumentQuery(source, in: database)
    for _ in 0..<random.below(4) {
      if let next = try? query.filtered(conditions(&random, in: source)) { query = next }
    }
    for _ in 0..<random.below(3) {
      let field = random.pick(fields + [fields[0], fields[1], .documentID])
      let direction = random.pick([Direction.ascending, .descending])
      if let next = try? query.ordered(by: field, direction) { query = next }
    }
    if random.chance(40) { query = bounded(query, &random, over: documents) }
    return random.chance(50) ? limited(query, &random) : query
  }

  /// The query for some of the first or the last documents.
  static func limited(_ query: DocumentQuery, _ random: inout Seeded) -> DocumentQuery {
    let count = 1 + random.below(6)
    let next = random.chance(50) ? try? query.limited(to: count) : try? query.limited(toLast: count)
    return next ?? query
  }

  /// The query with a start, an end or both, at values or documents.
  static func bounded(
    _ query: DocumentQuery, _ random: inout Seeded, over documents: [Document]
  ) -> DocumentQuery {
    let document = random.pick(documents)
    let values = query.explicitOrders.prefix(1 + random.below(2)).map { order -> DocumentValue in
      order.field.isDocumentID ? .string(random.pick(ids)) : scalar(&random)
    }
    let next: DocumentQuery?
    switch random.below(7) {
    case 0: next = try? query.starting(at: values)
    case 1: next = try? query.starting(after: values)
    case 2: next = try? query.ending(at: values)
    case 3: next = try? query.starting(at: values).ending(before: document)
    case 4: next = try? query.starting(after: document)
    case 5: next = try? query.ending(before: values)
    default: next = try? query.starting(at: document).ending(at: values)
    }
    return next ?? query
  }
}

/// What suites say of indexes and conditions in few words.
protocol DocumentSampling {}

extension DocumentSampling {
  /// An index of collections `c` by the names of fields: `-` before one descends, `*` contains.
  func index(
    _ fields: String..., scope: DocumentIndex.Scope = .collection
  ) throws -> DocumentIndex { try index(fields, scope: scope) }

  /// The same of a list.
  func index(
    _ fields: [String], scope: DocumentIndex.Scope = .collection
  ) throws -> DocumentIndex {
    try DocumentIndex(
      "c",
      fields.map { text in
        let rest = String(text.dropFirst())
        return switch text.first {
        case "-": DocumentIndex.Field(DocumentSamples.field(rest), .descending)
        case "*": DocumentIndex.Field(DocumentSamples.field(rest), .contains)
        default: DocumentIndex.Field(DocumentSamples.field(text))
        }
      }, scope: scope)
  }

  /// A condition on a field.
  func filter(
    _ field: String, _ test: FieldFilter.Operator, _ value: DocumentValue
  ) -> Filter { .field(DocumentSamples.field(field), test, value) }
}
