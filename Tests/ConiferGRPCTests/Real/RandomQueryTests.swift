#if GRPC
  import SwiftProtobuf
  import ConiferDocument
  import ConiferProtobuf
  import ConiferWire
  import TestSupport
  import Testing

  @testable import ConiferFirestore
  @testable import ConiferGRPC

  @Suite("Random queries of real servers", .timeLimit(.minutes(10)))
  struct RandomQueryTests {
    private typealias Path = ConiferDocument.FieldPath

    @Test(
      "A listened query shows what the server's own query finds", arguments: RealServer.installed,
      Seeded.seeds(3))
    func queries(_ server: RealServer, _ seed: UInt64) async throws {
      var random = Seeded(seed)
      let database = Emulator.database()
      let base = try service(await server.port(), database) { $0.openTimeout = .seconds(600) }
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
      var compared = 0
      for _ in 0..<150 {
        guard let query = try? query(&random, .collection(collection), database) else { continue }
        guard (try? query.validate()) != nil else { continue }
        if server == .emulator, query.isDisputed { continue }
        let own = Query(db, .success(query))
        let wanted: [String]
        do throws(StatusError) {
          wanted = try await found(query, by: base, database)
        } catch {
          // What one refuses the other does, too.
          #expect(error.code == .invalidArgument || error.code == .failedPrecondition)
          let told = await #expect(throws: FirestoreError.self, "seed \(seed): \(query.canonical)")
          {
            try await own.getDocuments(source: .server)
          }
          #expect(told?.code.rawValue == error.code.rawValue)
          continue
        }
        let evaluated = query.evaluate(documents).map(\.path.id)
        #expect(evaluated == wanted, "seed \(seed): \(query.canonical)")
        // A document that one side alone finds stays in limbo.
        guard evaluated == wanted else { continue }
        compared += 1
        for filter in query.filters.flatMap(\.fieldFilters) {
          operators.insert(filter.operator.rawValue)
        }
        #expect(
          try await own.getDocuments(source: .server).ids == wanted,
          "seed \(seed): \(query.canonical)")
      }
      #expect(compared > 60)
      #expect(operators == Set(ConiferDocument.FieldFilter.Operator.allCases.map(\.rawValue)))
      try await db.terminate()
    }

    /// Conifer follows the rules of the SDKs, by which NaN is the least number and null equals null in lists, too. This
    /// fails when the emulator no longer differs.
    @Test(
      "Null in lists and ranges, and NaN in ranges, are found by the client's rules, not by the emulator's",
      arguments: RealServer.installed)
    func disputed(_ server: RealServer) async throws {
      let database = Emulator.database()
      let base = try service(await server.port(), database) { $0.openTimeout = .seconds(600) }
      let collection = try CollectionPath("rooms")
      let values: [(String, DocumentValue)] = [
        ("nan", .double(.nan)), ("null", .null), ("one", .integer(1)),
      ]
      let documents = try values.map { id, value in
        Document(try collection.document(id), .found(["a": value]))
      }
      _ = try await base.commit(
        documents.map { Mutation($0.path, .set($0.fields ?? .empty, [])) }, token: nil)
      let a = try Path(["a"])
      let cases: [(ConiferDocument.FieldFilter.Operator, DocumentValue, [String], [String])] = [
        (.in, [nil, 1], ["one"], ["null", "one"]), (.lessThan, 2, ["one"], ["nan", "one"]),
        (.lessThanOrEqual, nil, [], ["null"]), (.greaterThanOrEqual, nil, [], ["null"]),
        (.greaterThan, .double(.nan), [], ["one"]),
      ]
      for (op, value, theirs, own) in cases {
        let query = try DocumentQuery(.collection(collection), in: database)
          .filtered(.field(a, op, value))
        #expect(query.isDisputed)
        #expect(
          try await Set(found(query, by: base, database))
            == Set(server == .emulator ? theirs : own),
          "\(query.canonical)")
        #expect(Set(query.evaluate(documents).map(\.path.id)) == Set(own), "\(query.canonical)")
      }
    }

    /// The ids that the server's own query finds.
    private func found(
      _ query: DocumentQuery, by base: GRPCService, _ database: DatabaseID
    ) async throws(StatusError) -> [String] {
      let target = query.target
      let request = ProtoRunQueryRequest.with {
        $0.parent = target.parent(in: database)
        if let query = ProtoStructuredQuery(target) { $0.structuredQuery = query }
      }
      let answers: [ProtoRunQueryResponse] = try await base.ask("RunQuery", request, nil)
      let ids = answers.filter(\.hasDocument).map {
        String($0.document.name.split(separator: "/").last ?? "")
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
        let known = query.explicitOrders.map(\.field)
        let field = random.chance(15) ? .documentID : random.pick(fields)
        if known.contains(field) || known.contains(.documentID) { continue }
        query = try query.ordered(by: field, random.chance(50) ? .ascending : .descending)
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

  extension DocumentQuery {
    /// Whether null is in a list or a range, or NaN may be in a range: emulator and SDKs differ there.
    fileprivate var isDisputed: Bool {
      ConiferDocument.Filter.and(filters).fieldFilters.contains { filter in
        let value = filter.value
        switch filter.operator {
        case .in:
          if case .array(let values) = value { return values.contains(.null) }
          return false
        case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
          if value == .null { return true }
          guard let number = value.number?.asDouble else { return false }
          let isBelow = filter.operator == .lessThan || filter.operator == .lessThanOrEqual
          return number.isNaN || isBelow
        default: return false
        }
      }
    }
  }
#endif
