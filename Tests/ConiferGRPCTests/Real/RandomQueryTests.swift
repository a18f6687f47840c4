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
      var kinds: Set<RandomServerQuery.Kind> = []
      var operators: Set<String> = []
      for hasNaN in [false, true] {
        let database = Emulator.database()
        var random = RandomServerQuery(database: database, hasNaN: hasNaN, random: Seeded(seed))
        let base = try service(await server.port(), database) { $0.openTimeout = .seconds(600) }
        let db = firestore(base, database)
        let documents = try random.documents(60)
        _ = try await base.commit(
          documents.map { Mutation($0.path, .set($0.fields ?? .empty, [])) }, token: nil)
        var compared = 0
        for _ in 0..<200 {
          guard let query = try? random.query() else { continue }
          if server == .emulator, query.isDisputed(hasNaN) { continue }
          let comment = Comment("seed \(seed), NaN \(hasNaN): \(query.canonical)")
          let own = Query(db, .success(query))
          let wanted: [String]
          do throws(StatusError) {
            wanted = try await found(query, by: base, database)
          } catch {
            // What one refuses the other does, too.
            #expect(error.code == .invalidArgument || error.code == .failedPrecondition, comment)
            let told = await #expect(throws: FirestoreError.self, comment) {
              try await own.getDocuments(source: .server)
            }
            #expect(told?.code.rawValue == error.code.rawValue, comment)
            continue
          }
          let evaluated = query.evaluate(documents).map { "\($0.path)" }
          #expect(evaluated == wanted, comment)
          // A document that one side alone finds stays in limbo.
          guard evaluated == wanted else { continue }
          compared += 1
          kinds.formUnion(query.kinds)
          for filter in query.filters.flatMap(\.fieldFilters) {
            operators.insert(filter.operator.rawValue)
          }
          let listened = try await own.getDocuments(source: .server)
          #expect(listened.documents.map(\.reference.path) == wanted, comment)
        }
        #expect(compared > 60)
        try await db.terminate()
      }
      #expect(kinds == Set(RandomServerQuery.Kind.allCases))
      #expect(operators == Set(ConiferDocument.FieldFilter.Operator.allCases.map(\.rawValue)))
    }

    /// Conifer follows the rules of the SDKs, by which NaN is the least number and null equals null in lists, too. This
    /// fails when the emulator no longer differs.
    @Test(
      "Null and NaN in lists and ranges are found by the client's rules, not by the emulator's",
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
        (.in, [nil, 1], ["one"], ["null", "one"]),
        (.in, [.double(.nan), 1], ["one"], ["nan", "one"]),
        (.notIn, [.double(.nan), 2], ["nan", "one"], ["one"]),
        (.lessThan, 2, ["one"], ["nan", "one"]),
        (.lessThanOrEqual, nil, [], ["null"]), (.greaterThanOrEqual, nil, [], ["null"]),
        (.greaterThan, .double(.nan), [], ["one"]),
      ]
      for (op, value, theirs, own) in cases {
        let query = try DocumentQuery(.collection(collection), in: database)
          .filtered(.field(a, op, value))
        #expect(query.isDisputed(true))
        #expect(
          try await Set(found(query, by: base, database))
            == Set((server == .emulator ? theirs : own).map { "rooms/\($0)" }),
          "\(query.canonical)")
        #expect(Set(query.evaluate(documents).map(\.path.id)) == Set(own), "\(query.canonical)")
      }
    }

    /// The paths that the server's own query finds.
    private func found(
      _ query: DocumentQuery, by base: GRPCService, _ database: DatabaseID
    ) async throws(StatusError) -> [String] {
      let target = query.target
      let request = ProtoRunQueryRequest.with {
        $0.parent = target.parent(in: database)
        if let query = ProtoStructuredQuery(target) { $0.structuredQuery = query }
      }
      let answers: [ProtoRunQueryResponse] = try await base.ask("RunQuery", request, nil)
      let paths = answers.filter(\.hasDocument).map {
        String($0.document.name.dropFirst("\(database)/documents/".count))
      }
      return query.limit?.side == .last ? paths.reversed() : paths
    }
  }

  extension DocumentValue {
    fileprivate var isNaN: Bool { number?.asDouble.isNaN == true }
  }

  extension DocumentQuery {
    /// Whether null is in a list or a range, or NaN may be: emulator and SDKs differ there.
    ///
    /// - Parameter hasNaN: whether documents have NaN.
    fileprivate func isDisputed(_ hasNaN: Bool) -> Bool {
      ConiferDocument.Filter.and(filters).fieldFilters.contains { filter in
        let value = filter.value
        switch filter.operator {
        case .in:
          guard case .array(let values) = value else { return false }
          return values.contains(.null) || (hasNaN && values.contains { $0.isNaN })
        case .notIn:
          guard hasNaN, case .array(let values) = value else { return false }
          return values.contains { $0.isNaN }
        case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
          if value == .null { return true }
          return value.isNaN || (hasNaN && filter.isBelowNumber)
        default: return false
        }
      }
    }
  }
#endif
