#if GRPC
  import SwiftProtobuf
  import ConiferDocument
  import ConiferProtobuf
  import ConiferWire
  import GRPCCore
  import TestSupport
  import Testing

  @testable import ConiferGRPC

  @Suite("Requests over gRPC", .timeLimit(.minutes(5)))
  struct RequestTests {
    private let database = DatabaseID(project: "test")

    @Test("Documents come in the order of their paths, also those that are not there")
    func lookup() async throws {
      let server = try await ScriptedServer()
      let paths = try ["rooms/a", "rooms/b", "rooms/a"].map { try DocumentPath($0) }
      async let found = service(server.port).lookup(paths, token: "t")
      let call = try await server.next()
      #expect(call.method == "BatchGetDocuments" && call.header("authorization") == "Bearer t")
      let request = try await call.receive(ProtoBatchGetDocumentsRequest.self)
      #expect(request.documents == paths.map { "\(Answers.root)/\($0)" })
      try call.send(
        ProtoBatchGetDocumentsResponse.with {
          $0.missing = "\(Answers.root)/rooms/b"
          $0.readTime = Answers.time(8)
        })
      try call.send(
        ProtoBatchGetDocumentsResponse.with {
          $0.found.name = "\(Answers.root)/rooms/a"
          $0.found.updateTime = Answers.time(3)
          $0.readTime = Answers.time(8)
        })
      call.end()
      let documents = try await found
      #expect(documents.map(\.path) == paths)
      #expect(documents.map { $0.fields?.count } == [0, nil, 0])
      #expect(documents.map(\.readTime.seconds) == [8, 8, 8])
      #expect(documents.map(\.version.seconds) == [3, 8, 3])
      #expect(try await service(server.port).lookup([], token: nil).isEmpty)
    }

    @Test("A document that the server is silent about is an error")
    func silence() async throws {
      let server = try await ScriptedServer()
      let path = try DocumentPath("rooms/a")
      let base = try service(server.port)
      async let result = Result { try await base.lookup([path], token: nil) }
      try await server.next().end()
      let told = await result
      let error = #expect(throws: StatusError.self) { try told.get() }
      #expect(error?.code == .internal)
    }

    @Test(
      "What the server does not say when it was changed or read is refused",
      arguments: [true, false])
    func timeless(_ isFound: Bool) async throws {
      let server = try await ScriptedServer()
      let base = try service(server.port)
      let path = try DocumentPath("rooms/a")
      async let result = Result { try await base.lookup([path], token: nil) }
      let call = try await server.next()
      try call.send(
        ProtoBatchGetDocumentsResponse.with {
          if isFound {
            $0.found.name = "\(Answers.root)/rooms/a"
            $0.readTime = Answers.time(8)
          } else {
            $0.missing = "\(Answers.root)/rooms/a"
          }
        })
      call.end()
      let told = await result
      let error = #expect(throws: StatusError.self) { try told.get() }
      #expect(error?.code == .internal && error?.message.contains("rooms/a") == true)
    }

    @Test("More answers than the options allow end a request")
    func answerLimit() async throws {
      let server = try await ScriptedServer()
      let base = try service(server.port) { $0.answerLimit = 10_000 }
      let paths = try (0..<20).map { try DocumentPath("rooms/r\($0)") }
      for count in [9, 20] {
        async let result = Result { try await base.lookup(Array(paths.prefix(count)), token: nil) }
        let call = try await server.next()
        for path in paths.prefix(count) {
          try call.send(
            ProtoBatchGetDocumentsResponse.with {
              $0.found.name = "\(Answers.root)/\(path)"
              $0.found.updateTime = Answers.time(3)
              $0.found.fields = [
                .with {
                  $0.key = "text"
                  $0.value.stringValue = String(repeating: "x", count: 1_000)
                }
              ]
              $0.readTime = Answers.time(8)
            })
        }
        // Of too many the client has enough before the server has said all.
        if count == 9 { call.end() }
        let told = await result
        guard count > 9 else {
          #expect(try told.get().count == count)
          continue
        }
        let error = #expect(throws: StatusError.self) { try told.get() }
        #expect(error?.code == .outOfRange && error?.message.contains("10000 bytes") == true)
        await call.ended()
      }
    }

    @Test("A request that the server does not answer ends at its deadline, by the client's clock")
    func deadline() async throws {
      let server = try await ScriptedServer()
      let clock = ScriptedSleep()
      // By its own clock gRPC would wait for an hour.
      let base = try service(server.port, sleep: clock) { $0.requestTimeout = .seconds(3_600) }
      let path = try DocumentPath("rooms/a")
      async let result = Result { try await base.lookup([path], token: nil) }
      let call = try await server.next()
      #expect(call.header("grpc-timeout") != nil)
      try await eventually("the request waits") { clock.lengths.contains(.seconds(3_600)) }
      clock.end(.seconds(3_600))
      let told = await result
      let error = #expect(throws: StatusError.self) { try told.get() }
      #expect(error?.code == .deadlineExceeded, "\(String(describing: error))")
      // The server is told that nobody waits any more.
      await call.ended()
      try await eventually("nobody waits") { clock.lengths.isEmpty }
    }

    @Test("The server's refusal is told with its code", arguments: StatusCode.allCases)
    func refusal(_ code: StatusCode) async throws {
      guard let status = Status.Code(rawValue: code.rawValue), let refusal = RPCError.Code(status)
      else { return }
      let server = try await ScriptedServer()
      let write = Mutation(try DocumentPath("rooms/a"), .delete)
      let base = try service(server.port)
      async let result = Result { try await base.commit([write], token: nil) }
      try await server.next().end(RPCError(code: refusal, message: "no"))
      let told = await result
      let error = #expect(throws: StatusError.self) { try told.get() }
      #expect(error?.code == code && error?.message.contains("no") == true)
    }

    @Test("Aggregates are told in the order that they were asked for in")
    func aggregates() async throws {
      let server = try await ScriptedServer()
      let query = try DocumentQuery(.group("rooms"), in: database)
        .filtered(.field(try FieldPath(["n"]), .greaterThan, 1))
      let asked: [Aggregate] = [
        .count, .sum(try FieldPath(["n"])), .average(try FieldPath(["x.y"])),
      ]
      async let values = service(server.port).aggregate(query, asked, token: nil)
      let call = try await server.next()
      let request = try await call.receive(ProtoRunAggregationQueryRequest.self)
      #expect(request.parent == Answers.root)
      let sent = request.structuredAggregationQuery
      #expect(sent.structuredQuery.from.map(\.allDescendants) == [true])
      #expect(sent.aggregations.map(\.alias) == ["a0", "a1", "a2"])
      #expect(sent.aggregations[1].sum.field.fieldPath == "n")
      #expect(sent.aggregations[2].avg.field.fieldPath == "`x.y`")
      try call.send(
        ProtoRunAggregationQueryResponse.with {
          $0.result.aggregateFields = [
            .with {
              $0.key = "a2"
              $0.value.nullValue = .nullValue
            },
            .with {
              $0.key = "a0"
              $0.value.integerValue = 4
            },
            .with {
              $0.key = "a1"
              $0.value.doubleValue = 2.5
            },
          ]
        })
      call.end()
      let told = try await values
      #expect(told == [4, 2.5, nil])
    }
  }

  extension Result where Failure == any Error {
    /// What a closure gives or throws.
    fileprivate init(_ body: () async throws -> Success) async {
      do { self = .success(try await body()) } catch { self = .failure(error) }
    }
  }
#endif
