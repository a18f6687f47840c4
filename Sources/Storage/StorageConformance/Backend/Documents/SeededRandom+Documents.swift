internal import ConiferDocument
internal import ConiferKeyValue
internal import ConiferStorage

/// Random documents, writes and queries. They use few paths and names, so that they affect each
/// other, and some special cases.
extension SeededRandom {
  static let database = DatabaseID(project: "kit")

  private static let collections = ["c", "c/d1/c", "c/d 2/sub", "rooms"]
  private static let ids = [
    "d1", "d2", "d 2", "__id7__", "__id12__", "__id-3__", "é", "e\u{301}", "\0", "\0a", "\u{1}",
    "z",
    String(repeating: "long", count: 90), String(repeating: "long", count: 90) + "er",
  ]
  private static let names = ["a", "b", "c", "m"]
  private static let longText = String(repeating: "long ", count: 50)

  mutating func path() -> DocumentPath {
    let text = pick(Self.collections) + "/" + pick(Self.ids)
    guard let path = try? DocumentPath(text) else { preconditionFailure("'\(text)' is no path") }
    return path
  }

  mutating func scalar() -> DocumentValue {
    pick([
      .null, false, true, 0, 1, -1, 1.0, -0.0, 2.5, .double(.nan), .double(.infinity),
      .integer(.max),
      .integer(.min), "", "a", "text", .bytes([]), .bytes([0, 255]), .timestamp(time()), "é\0",
      // Integers beyond 2^53, of which some are equal as doubles, and texts longer than what rows of indexes hold.
      .integer(1 << 53), .integer(1 << 53 + 1), 9_007_199_254_740_992.0,
      .string(Self.longText), .string(Self.longText + "a"),
      .vector([]), .vector([1, -0.0]), .reference(DocumentName(path(), in: Self.database)),
      (try? GeoPoint(latitude: -45.5, longitude: 180)).map { .geoPoint($0) } ?? .null,
    ])
  }

  mutating func value(depth: Int = 2) -> DocumentValue {
    guard depth > 0, one(in: 3) else { return scalar() }
    if one(in: 2) { return .map(map(depth: depth - 1)) }
    return .array((0..<Int.random(in: 0...3, using: &self)).map { _ in scalar() })
  }

  mutating func map(depth: Int = 2) -> MapValue {
    MapValue(
      (0..<Int.random(in: 0...4, using: &self)).map { _ in (pick(Self.names), value(depth: depth)) }
    )
  }

  mutating func time() -> Timestamp {
    (try? Timestamp(
      seconds: pick([0, 1, -5, 1_700_000_000, Int64.random(in: 0...4_000_000_000, using: &self)]),
      nanoseconds: pick([0, 1000, 999_999_000]))) ?? .zero
  }

  /// What a server says of a document.
  ///
  /// - Parameter newest: the time at which a document was read last, after which this one is; nil for any time.
  mutating func document(after newest: Timestamp? = nil) -> Document {
    let later = Int64.random(in: 0...5, using: &self)
    let readTime = newest.flatMap { try? Timestamp(seconds: $0.seconds + 1 + later) } ?? time()
    let state: Document.State =
      one(in: 5) ? .missing : one(in: 9) ? .unknown : .found(one(in: 40) ? large() : map())
    return Document(
      path(), state, version: time(), readTime: readTime,
      writes: one(in: 4) ? .committed : .synced)
  }

  /// Made once, since making them takes longer than most programs need.
  private static let largeTexts = ["x", "yz"].map { String(repeating: $0, count: 300_000) }

  /// Fields that are stored in chunks.
  private mutating func large() -> MapValue {
    [
      "a": .string(pick(Self.largeTexts)),
      "b": scalar(),
    ]
  }

  private mutating func field() -> FieldPath {
    let names = (0..<Int.random(in: 1...2, using: &self)).map { _ in pick(Self.names) }
    guard let field = try? FieldPath(names) else { preconditionFailure("\(names) is no field") }
    return field
  }

  private mutating func writeValue() -> WriteValue {
    switch Int.random(in: 0..<11, using: &self) {
    case 0: .increment(pick([1, 2.5]))
    case 1: .serverTimestamp
    case 2: .arrayUnion([pick([1, "a"]), scalar()])
    case 3: .arrayRemove([pick([1, "a"])])
    case 4: .minimum(pick([0, 1.5]))
    case 5: .maximum(pick([0, 1.5]))
    default: .value(value(depth: 1))
    }
  }

  private mutating func pairs() -> [(String, WriteValue)] {
    (0..<Int.random(in: 0...3, using: &self)).map { _ in (pick(Self.names), writeValue()) }
  }

  private mutating func mutation() -> ConiferDocument.Mutation? {
    let path = path()
    switch Int.random(in: 0..<9, using: &self) {
    case 0:
      return try? ConiferDocument.Mutation.delete(
        path, if: pick([.none, .exists(true), .exists(false), .updateTime(time())]))
    case 1, 2: return try? ConiferDocument.Mutation.set(path, pairs(), in: Self.database)
    case 3:
      return try? ConiferDocument.Mutation.verify(path, if: .exists(one(in: 2)))
    case 8:
      // A write that creates a document and requires that it does not exist, as a transaction may
      // contain it.
      let set = try? ConiferDocument.Mutation.set(path, pairs(), in: Self.database)
      return set.map { ConiferDocument.Mutation(path, $0.change, if: .exists(false)) }
    case 4, 5:
      let deletions: [(String, WriteValue)] = one(in: 3) ? [(pick(Self.names), .delete)] : []
      return try? ConiferDocument.Mutation.merge(path, pairs() + deletions, in: Self.database)
    default:
      return try? ConiferDocument.Mutation.update(
        path, [(field(), one(in: 3) ? .delete : writeValue())], in: Self.database)
    }
  }

  /// Writes as an app makes them, upon what a lane shows.
  mutating func batch(over shown: (DocumentPath) -> Document) -> MutationBatch {
    let mutations = (0..<Int.random(in: 1...3, using: &self)).compactMap { _ in mutation() }
    return MutationBatch(mutations, written: time(), over: shown)
  }

  /// Indexes of documents, some of which serve queries.
  mutating func indexes() -> [DocumentIndex] {
    (0..<Int.random(in: 0...4, using: &self)).compactMap { _ in
      let fields = (0..<pick([1, 1, 2, 3])).map { _ in
        DocumentIndex.Field(
          one(in: 3) ? field() : FieldPath(unchecked: [pick(Self.names)]),
          pick([.ascending, .ascending, .descending, .contains]))
      }
      return try? DocumentIndex(
        pick(["c", "c", "sub", "rooms"]), fields, scope: pick([.collection, .collection, .group]))
    }
  }
}

// Queries.
extension SeededRandom {
  private mutating func filter(in source: DocumentQuery.Source) -> FieldFilter {
    let test = pick(FieldFilter.Operator.allCases)
    let isList = [.in, .notIn, .arrayContainsAny].contains(test)
    let field = one(in: 6) ? FieldPath.documentID : field()
    func operand(_ random: inout SeededRandom) -> DocumentValue {
      // Arrays and maps are compared too; an operand that the operator does not take leaves the filter out.
      field.isDocumentID ? random.name(in: source) : random.value()
    }
    let count = isList ? Int.random(in: 1...3, using: &self) : 1
    let values = (0..<count).map { _ in operand(&self) }
    return FieldFilter(field, test, isList ? .array(values) : values[0])
  }

  /// What `__name__` is compared with: the id of a document, in a group its path.
  private mutating func name(in source: DocumentQuery.Source) -> DocumentValue {
    if case .group = source { return .string(path().description) }
    return .string(pick(Self.ids))
  }

  /// Conditions within each other.
  private mutating func filter(in source: DocumentQuery.Source, depth: Int) -> Filter {
    if depth == 0 || one(in: 2) { return .field(filter(in: source)) }
    let parts = (0..<Int.random(in: 0...3, using: &self)).map { _ in
      filter(in: source, depth: depth - 1)
    }
    return one(in: 2) ? .and(parts) : .or(parts)
  }

  /// The query with a start, an end or both; as it was when it cannot have them.
  private mutating func bounded(
    _ query: DocumentQuery, over documents: [Document]
  ) -> DocumentQuery {
    let document = documents.randomElement(using: &self) ?? document()
    let values = query.explicitOrders.prefix(Int.random(in: 1...2, using: &self)).map { order in
      if order.field.isDocumentID { return name(in: query.source) }
      let own = document.fields?[order.field]?.resolved(.none)
      return one(in: 2) ? own ?? scalar() : scalar()
    }
    let next: DocumentQuery? =
      switch Int.random(in: 0..<8, using: &self) {
      case 0: try? query.starting(at: values)
      case 1: try? query.starting(after: values)
      case 2: try? query.ending(at: values)
      case 3: try? query.ending(before: values)
      case 4: try? query.starting(at: values).ending(before: document)
      case 5: try? query.starting(after: document)
      case 6: try? query.ending(at: document)
      default: try? query.starting(at: document).ending(at: values)
      }
    return next ?? query
  }

  /// A valid query: parts that are refused are left out.
  ///
  /// - Parameter documents: those at which it may start or end.
  mutating func query(over documents: [Document]) -> DocumentQuery {
    let source: DocumentQuery.Source =
      switch Int.random(in: 0..<6, using: &self) {
      case 0: .group("c")
      case 1: .document(path())
      default: (try? CollectionPath(pick(Self.collections))).map { .collection($0) } ?? .group("c")
      }
    var query = DocumentQuery(source, in: Self.database)
    // Many conditions leave nothing that a start or an end could take away.
    for _ in 0..<pick([0, 0, 0, 1, 1, 2]) {
      query = (try? query.filtered(filter(in: source, depth: 2))) ?? query
    }
    for _ in 0..<Int.random(in: 0...2, using: &self) {
      let field = one(in: 4) ? FieldPath.documentID : field()
      query = (try? query.ordered(by: field, pick([.ascending, .descending]))) ?? query
    }
    if one(in: 2) { query = bounded(query, over: documents) }
    if one(in: 2) {
      let count = Int.random(in: 1...4, using: &self)
      let limited = one(in: 2) ? try? query.limited(to: count) : try? query.limited(toLast: count)
      query = limited ?? query
    }
    return (try? query.validate()) == nil ? DocumentQuery(source, in: Self.database) : query
  }

  /// The queries that programs track, so few that what is stored of one tells which it is.
  static let trackedQueries: [DocumentQuery] = {
    var random = SeededRandom(seed: 31)
    let documents = (0..<40).map { _ in random.document() }
    return (0..<200).map { _ in random.query(over: documents) }
  }()

  /// The same by the texts of their targets.
  static let trackedByText = Dictionary(
    trackedQueries.map { (Bytes($0.target.canonical.utf8), $0) }
  ) { first, _ in first }
}
