#if GRPC
  import SwiftProtobuf
  import ConiferDocument
  import ConiferProtobuf
  import ConiferWire
  import TestSupport
  import Testing

  @testable import ConiferFirestore
  @testable import ConiferGRPC

  @Suite(
    "Random queries of the vendor's emulator", .enabled(if: Emulator.isInstalled),
    .timeLimit(.minutes(10)))
  struct RandomQueryTests {
    private typealias Path = ConiferDocument.FieldPath

    @Test("A listened query shows what the emulator's own query finds", arguments: Seeded.seeds(3))
    func queries(_ seed: UInt64) async throws {
      var random = Seeded(seed)
      let database = Emulator.database()
      let base = try service(await Emulator.shared().port, database)
      let db = firestore(base, database)
      let collection = try CollectionPath("rooms")
      var documents: [Document] = []
      for n in 0..<40 {
        let path = try collection.document("r\(n)")
        var fields = MapValue.empty
        for name in ["a", "b", "c"] where random.chance(85) {
          fields[name] = try value(&random, in: database)
        }
        documents.append(Document(path, .found(fields)))
      }
      _ = try await base.commit(
        documents.map { Mutation($0.path, .set($0.fields ?? .empty, [])) }, token: nil)
      var operators: Set<String> = []
      for _ in 0..<150 {
        guard let query = try? query(&random, .collection(collection), database) else { continue }
        guard (try? query.validate()) != nil else { continue }
        for filter in query.filters.flatMap(\.fieldFilters) {
          operators.insert(filter.operator.rawValue)
        }
        let wanted = try await found(query, by: base, database)
        let own = try await Query(db, .success(query)).getDocuments(source: .server)
        #expect(own.ids == wanted, "seed \(seed): \(query.canonical)")
        #expect(
          query.evaluate(documents).map(\.path.id) == wanted, "seed \(seed): \(query.canonical)")
      }
      #expect(operators == Set(ConiferDocument.FieldFilter.Operator.allCases.map(\.rawValue)))
      try await db.terminate()
    }

    /// The ids that the emulator's own query finds.
    private func found(
      _ query: DocumentQuery, by base: GRPCService, _ database: DatabaseID
    ) async throws -> [String] {
      let target = query.target
      let request = ProtoRunQueryRequest.with {
        $0.parent = target.parent(in: database)
        if let query = ProtoStructuredQuery(target) { $0.structuredQuery = query }
      }
      let answers: [ProtoRunQueryResponse] = try await base.ask("RunQuery", request, nil)
      let ids = try answers.filter(\.hasDocument).map {
        try DocumentPath(name: $0.document.name, in: database).id
      }
      return query.limit?.side == .last ? ids.reversed() : ids
    }

    // MARK: What is random

    private func value(_ random: inout Seeded, in database: DatabaseID) throws -> DocumentValue {
      switch random.below(13) {
      case 0: return nil
      case 1: return .boolean(random.chance(50))
      case 2, 3: return .integer(Int64(random.below(5)))
      case 4: return .double(Double(random.below(8)) / 2)
      case 5: return random.chance(50) ? .double(.nan) : .double(-.infinity)
      case 6: return .timestamp(try .init(seconds: Int64(random.below(3))))
      case 7, 8: return .string(random.pick(["", "a", "b", "ab", "ä", "😀", "\u{FFFD}"]))
      case 9: return .bytes(random.pick([[], [1], [1, 2], [255]]))
      case 10:
        return .reference(
          DocumentName(try DocumentPath("rooms/r\(random.below(5))"), in: database))
      case 11:
        return .array((0..<random.below(3)).map { _ in .integer(Int64(random.below(4))) })
      default: return .map(["x": .integer(Int64(random.below(3)))])
      }
    }

    private func query(
      _ random: inout Seeded, _ source: DocumentQuery.Source, _ database: DatabaseID
    ) throws -> DocumentQuery {
      var query = DocumentQuery(source, in: database)
      let fields = try ["a", "b", "c"].map { try Path([$0]) }
      for _ in 0..<random.below(3) {
        query = try query.filtered(try filter(&random, fields, database, depth: 0))
      }
      for _ in 0..<random.below(3) {
        query = try query.ordered(
          by: random.chance(15) ? .documentID : random.pick(fields),
          random.chance(50) ? .ascending : .descending)
      }
      if random.chance(30), let order = query.explicitOrders.first {
        let value: DocumentValue =
          order.field.isDocumentID
          ? .string("r\(random.below(40))") : try value(&random, in: database)
        query =
          switch random.below(4) {
          case 0: try query.starting(at: [value])
          case 1: try query.starting(after: [value])
          case 2: try query.ending(at: [value])
          default: try query.ending(before: [value])
          }
      }
      if random.chance(40) {
        let count = 1 + random.below(10)
        query = try random.chance(50) ? query.limited(to: count) : query.limited(toLast: count)
      }
      return query
    }

    private func filter(
      _ random: inout Seeded, _ fields: [Path], _ database: DatabaseID, depth: Int
    ) throws -> ConiferDocument.Filter {
      if depth < 2, random.chance(25) {
        let parts = try (0..<2 + random.below(2)).map { _ in
          try filter(&random, fields, database, depth: depth + 1)
        }
        return random.chance(50) ? .and(parts) : .or(parts)
      }
      let op = random.pick(ConiferDocument.FieldFilter.Operator.allCases)
      let field = random.pick(fields)
      switch op {
      case .in, .notIn, .arrayContainsAny:
        let values = try (0..<1 + random.below(3)).map { _ in
          try value(&random, in: database)
        }
        return .field(field, op, .array(values))
      default: return .field(field, op, try value(&random, in: database))
      }
    }
  }
#endif
