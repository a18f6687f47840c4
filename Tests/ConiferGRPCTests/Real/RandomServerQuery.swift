#if GRPC
  import ConiferDocument
  import TestSupport

  /// Documents and queries at random, of which servers are asked, few enough in kind that queries find some.
  struct RandomServerQuery {
    typealias Path = ConiferDocument.FieldPath

    /// What the queries of a test are to have, so that none of it is forgotten.
    enum Kind: CaseIterable, Sendable {
      case group, nestedField, geoPoint, vector, name, belowNumber, twoValues, bothEnds
    }

    let database: DatabaseID
    /// Whether documents have NaN, which servers and clients may sort differently.
    let hasNaN: Bool
    var random: Seeded

    /// Top-level fields, and some of maps.
    static let fields = [["a"], ["b"], ["c"], ["m", "x"], ["m", "ü`."], ["m", "n", "y"]]
      .compactMap { try? Path($0) }
    /// Those of the group `rooms`, and one that is in none.
    static let collections = ["rooms", "houses/h1/rooms", "houses/h2/rooms", "doors"]

    // MARK: Documents

    mutating func documents(_ count: Int) throws -> [Document] {
      try (0..<count).map { n in
        // Two of three are in the first collection.
        let collection = random.chance(66) ? Self.collections[0] : random.pick(Self.collections)
        var fields = MapValue.empty
        for name in ["a", "b", "c"] where random.chance(85) { fields[name] = try value() }
        var (map, inner): (MapValue, MapValue) = (.empty, .empty)
        for name in ["x", "ü`."] where random.chance(70) { map[name] = try value() }
        if random.chance(70) { inner["y"] = try value() }
        if random.chance(70) { map["n"] = .map(inner) }
        if random.chance(85) { fields["m"] = .map(map) }
        return Document(try DocumentPath("\(collection)/r\(n)"), .found(fields))
      }
    }

    mutating func value() throws -> DocumentValue {
      switch random.below(17) {
      case 0: return nil
      case 1: return .boolean(random.chance(50))
      case 2, 3: return .integer(Int64(random.below(5)))
      case 4: return .double(Double(random.below(8)) / 2)
      case 5: return .double(hasNaN && random.chance(50) ? .nan : -.infinity)
      case 6: return .timestamp(try .init(seconds: Int64(random.below(3))))
      case 7, 8: return .string(random.pick(["", "a", "b", "ab", "ä", "😀", "\u{FFFD}"]))
      case 9: return .bytes(random.pick([[], [1], [1, 2], [255]]))
      case 10:
        return .reference(DocumentName(try DocumentPath("rooms/r\(random.below(5))"), in: database))
      case 11, 12:
        let latitude = Double(random.below(3) * 30 - 30)
        return .geoPoint(try GeoPoint(latitude: latitude, longitude: Double(random.below(3))))
      case 13, 14:
        // Sorted by the count of their numbers first.
        return .vector((0..<1 + random.below(3)).map { _ in Double(random.below(4)) - 1.5 })
      case 15: return .array(try (0..<random.below(3)).map { _ in try element() })
      default:
        return .map(["x": .integer(Int64(random.below(3)))])
      }
    }

    private mutating func element() throws -> DocumentValue {
      if random.chance(70) { return .integer(Int64(random.below(4))) }
      return random.pick([.string("a"), .geoPoint(try GeoPoint(latitude: 30, longitude: 1))])
    }

    // MARK: Queries

    /// - Throws: `invalidQuery` when a client would refuse it.
    mutating func query() throws -> DocumentQuery {
      let source: DocumentQuery.Source =
        random.chance(30) ? .group("rooms") : .collection(try CollectionPath("rooms"))
      var query = DocumentQuery(source, in: database)
      for _ in 0..<random.below(3) { query = try query.filtered(try filter(source, depth: 0)) }
      for _ in 0..<random.below(3) {
        let known = query.explicitOrders.map(\.field)
        let field = random.chance(15) ? .documentID : random.pick(Self.fields)
        if known.contains(field) || known.contains(.documentID) { continue }
        query = try query.ordered(by: field, random.chance(50) ? .ascending : .descending)
      }
      if random.chance(50) { query = try bounded(query) }
      if random.chance(40) {
        let count = 1 + random.below(10)
        query = try random.chance(50) ? query.limited(to: count) : query.limited(toLast: count)
      }
      try query.validate()
      return query
    }

    private mutating func bounded(_ query: DocumentQuery) throws -> DocumentQuery {
      guard !query.explicitOrders.isEmpty else { return query }
      var query = query
      let sides = random.below(3)
      if sides != 1 {
        let values = try cursor(query)
        query =
          try random.chance(50) ? query.starting(at: values) : query.starting(after: values)
      }
      if sides != 0 {
        let values = try cursor(query)
        query = try random.chance(50) ? query.ending(at: values) : query.ending(before: values)
      }
      return query
    }

    private mutating func cursor(_ query: DocumentQuery) throws -> [DocumentValue] {
      let orders = query.explicitOrders
      return try orders.prefix(1 + random.below(orders.count)).map { order in
        order.field.isDocumentID ? try name(query.source) : try value()
      }
    }

    private mutating func name(_ source: DocumentQuery.Source) throws -> DocumentValue {
      let collection: String =
        if case .group = source { random.pick(Self.collections) } else { "rooms" }
      let path = try DocumentPath("\(collection)/r\(random.below(40))")
      return .reference(DocumentName(path, in: database))
    }

    private mutating func filter(
      _ source: DocumentQuery.Source, depth: Int
    ) throws -> ConiferDocument.Filter {
      if depth < 2, random.chance(25) {
        let parts = try (0..<2 + random.below(2)).map { _ in try filter(source, depth: depth + 1) }
        return random.chance(50) ? .and(parts) : .or(parts)
      }
      let op = random.pick(ConiferDocument.FieldFilter.Operator.allCases)
      let field = random.chance(8) ? Path.documentID : random.pick(Self.fields)
      switch op {
      case .in, .notIn, .arrayContainsAny:
        return .field(
          field, op, .array(try (0..<1 + random.below(3)).map { _ in try operand(field, source) }))
      case .arrayContains where random.chance(50): return .field(field, op, try element())
      default: return .field(field, op, try operand(field, source))
      }
    }

    private mutating func operand(
      _ field: Path, _ source: DocumentQuery.Source
    ) throws -> DocumentValue { field.isDocumentID ? try name(source) : try value() }
  }

  extension DocumentQuery {
    /// What it has of what queries are to have.
    var kinds: Set<RandomServerQuery.Kind> {
      let filters = ConiferDocument.Filter.and(filters).fieldFilters
      let fields = filters.map(\.field) + explicitOrders.map(\.field)
      let cursors = [start, end].compactMap { $0?.values }
      let values = filters.map(\.value) + cursors.joined()
      var kinds: Set<RandomServerQuery.Kind> = []
      if case .group = source { kinds.insert(.group) }
      if fields.contains(where: { $0.names.count > 1 }) { kinds.insert(.nestedField) }
      if filters.contains(where: \.field.isDocumentID) { kinds.insert(.name) }
      if filters.contains(where: \.isBelowNumber) { kinds.insert(.belowNumber) }
      for value in values {
        if case .geoPoint = value { kinds.insert(.geoPoint) }
        if case .vector = value { kinds.insert(.vector) }
      }
      if cursors.contains(where: { $0.count > 1 }) { kinds.insert(.twoValues) }
      if cursors.count == 2 { kinds.insert(.bothEnds) }
      return kinds
    }
  }

  extension ConiferDocument.FieldFilter {
    /// Whether it asks for what is below a number, such as NaN.
    var isBelowNumber: Bool {
      guard self.operator == .lessThan || self.operator == .lessThanOrEqual else { return false }
      return value.number.map { !$0.asDouble.isNaN } ?? false
    }
  }
#endif
