#if GRPC
  import SwiftProtobuf
  import ConiferDocument
  import ConiferProtobuf
  import ConiferWire
  import Foundation
  import GRPCCore
  import Testing

  @testable import ConiferGRPC

  @Suite("Streams over gRPC", .timeLimit(.minutes(5)))
  struct StreamTests {
    private let rooms: DocumentTarget

    init() throws {
      rooms =
        DocumentQuery(
          .collection(try CollectionPath("rooms")), in: DatabaseID(project: "test")
        ).target
    }

    @Test("A call names the database, its route and the user")
    func headers() async throws {
      let server = try await ScriptedServer()
      let database = DatabaseID(project: "my app", database: "näh")
      let line = WatchLine(
        try service(server.port, database) { $0.headers["x-app"] = "me" }, token: "secret")
      #expect(await line.opened())
      let call = try await server.next()
      #expect(call.method == "Listen")
      #expect(call.header("authorization") == "Bearer secret")
      #expect(call.header("google-cloud-resource-prefix") == "projects/my app/databases/näh")
      #expect(call.header("x-goog-request-params") == "project_id=my%20app&database_id=n%C3%A4h")
      #expect(call.header("x-app") == "me")
      line.stream.close()
      #expect(await line.end() == nil)
      await call.ended()
      let nobody = WatchLine(try service(server.port, database))
      #expect(try await server.next().header("authorization") == nil)
      nobody.stream.close()
    }

    @Test("A target is asked for with its token, count and label, and no longer")
    func targets() async throws {
      let server = try await ScriptedServer()
      let line = WatchLine(try service(server.port))
      let call = try await server.next()
      var resumed = WatchTarget(4, rooms, .existenceFilterMismatchBloom, resumeToken: [7])
      resumed.expectedCount = 3
      line.stream.add(resumed)
      line.stream.add(WatchTarget(6, rooms, version: try Timestamp(seconds: 9)))
      let path = try DocumentPath("rooms/eros")
      let one = DocumentQuery(.document(path), in: DatabaseID(project: "test")).target
      line.stream.add(WatchTarget(1, one, .limboResolution))
      line.stream.remove(4)
      let first = try await call.receive(ProtoListenRequest.self)
      #expect(first.database == "projects/test/databases/(default)")
      #expect(first.addTarget.targetID == 4 && Array(first.addTarget.resumeToken) == [7])
      #expect(first.addTarget.hasExpectedCount && first.addTarget.expectedCount.value == 3)
      #expect(first.labels.map(\.key) == ["goog-listen-tags"])
      #expect(first.labels.map(\.value) == ["existence-filter-mismatch-bloom"])
      #expect(first.addTarget.query.parent == Answers.root)
      #expect(first.addTarget.query.structuredQuery.from.map(\.collectionID) == ["rooms"])
      let second = try await call.receive(ProtoListenRequest.self)
      #expect(second.addTarget.readTime.seconds == 9 && second.addTarget.resumeToken.isEmpty)
      #expect(!second.addTarget.hasExpectedCount && second.labels.isEmpty)
      let third = try await call.receive(ProtoListenRequest.self)
      #expect(third.addTarget.documents.documents == ["\(Answers.root)/rooms/eros"])
      #expect(third.labels.map(\.value) == ["limbo-document"])
      #expect(try await call.receive(ProtoListenRequest.self).removeTarget == 4)
      line.stream.close()
    }

    @Test("What the server says is told in its order")
    func said() async throws {
      let server = try await ScriptedServer()
      let line = WatchLine(try service(server.port))
      #expect(await line.opened())
      let call = try await server.next()
      try call.send(Answers.target(.add, [2]))
      try call.send(Answers.document("rooms/a", 1, at: 5, matching: [2], leaving: [4]))
      try call.send(
        ProtoListenResponse.with { response in
          response.documentDelete.document = "\(Answers.root)/rooms/b"
          response.documentDelete.removedTargetIds = [2]
          response.documentDelete.readTime = Answers.time(6)
        })
      try call.send(
        ProtoListenResponse.with { response in
          response.documentRemove.document = "\(Answers.root)/rooms/c"
          response.documentRemove.removedTargetIds = [2]
        })
      try call.send(Answers.filter(2, count: 1))
      try call.send(Answers.target(.noChange, token: "t", at: 7))
      try call.send(
        Answers.target(
          .remove, [2],
          cause: .with {
            $0.code = 7
            $0.message = "no"
          }))
      let a = Document(
        try DocumentPath("rooms/a"), .found(["n": 1]), version: try Timestamp(seconds: 5),
        createTime: try Timestamp(seconds: 1))
      let b = Document(
        try DocumentPath("rooms/b"), .missing, version: try Timestamp(seconds: 6))
      let wanted: [(WatchChange, Timestamp?)] = [
        (.targets(.added, [2]), nil), (.document(a, matching: [2], leaving: [4]), nil),
        (.document(b, leaving: [2]), nil), (.left(try DocumentPath("rooms/c"), [2]), nil),
        (.filter(2, count: 1), nil),
        (.targets(.noChange, [], resumeToken: Array("t".utf8)), try Timestamp(seconds: 7)),
        (.targets(.rejected(StatusError(.permissionDenied, "no")), [2]), nil),
      ]
      for (change, version) in wanted {
        let said = try await line.said()
        #expect(said.0 == change && said.1 == version)
      }
      call.end(RPCError(code: .resourceExhausted, message: "too much"))
      #expect(await line.end() == StatusError(.resourceExhausted, "too much"))
    }

    /// It would come again with the next attempt, which the code has come late.
    @Test("What makes no sense ends the stream")
    func malformed() async throws {
      let server = try await ScriptedServer()
      let line = WatchLine(try service(server.port))
      let call = try await server.next()
      try call.send(
        ProtoListenResponse.with { response in
          response.documentChange.document.name = "projects/other/databases/(default)/documents/a/b"
        })
      let error = await line.end()
      #expect(error?.code == .dataLoss && error?.message.contains("is not of the database") == true)
      await call.ended()
    }

    @Test("A server that ends a stream well has it opened again, as one that cannot be reached")
    func ends() async throws {
      let server = try await ScriptedServer()
      let line = WatchLine(try service(server.port))
      try await server.next().end()
      #expect(await line.end()?.code == .unavailable)
      let port = server.port
      await server.stop()
      let none = WatchLine(try service(port))
      let error = await none.end()
      #expect(error?.code == .unavailable && error?.message.contains("cannot be reached") == true)
    }

    @Test("A client that takes nothing in is told so much and no more, and reads no further")
    func credit() async throws {
      let server = try await ScriptedServer()
      let relay = try CountingRelay(to: server.port)
      let base = try service(relay.port)
      let line = WatchLine(base)
      #expect(await line.opened())
      let call = try await server.next()
      let count = 3_000
      let text = String(repeating: "x", count: 10_000)
      var large = Answers.document("rooms/a", 1, at: 5, matching: [2])
      large.documentChange.document.fields[0].value.stringValue = text
      for _ in 0..<count { try call.send(large) }
      for _ in 0..<WatchStreamLimits.ahead { _ = try await line.said() }
      for _ in 0..<10 {
        line.stream.taken()
        _ = try await line.said()
      }
      // Requests on the same connection are answered meanwhile, and give what would come the time to come.
      let path = try DocumentPath("rooms/a")
      for _ in 0..<50 {
        async let found = base.lookup([path], token: nil)
        let get = try await server.next()
        try get.send(
          ProtoBatchGetDocumentsResponse.with { $0.missing = "\(Answers.root)/rooms/a" })
        get.end()
        #expect(try await found.count == 1)
      }
      let before = relay.count
      #expect(line.events.count == 0)
      for _ in 0..<count { line.stream.taken() }
      for _ in (WatchStreamLimits.ahead + 10)..<count { _ = try await line.said() }
      // Windows and buffers hold less than two thirds of the 30 MB.
      #expect(before < 20_000_000 && relay.count >= 30_000_000)
      line.stream.close()
    }

    @Test("Writes are greeted and answered in order, and what was sent before the end arrives")
    func writes() async throws {
      let server = try await ScriptedServer()
      let events = Mailbox<WriteStreamEvent>()
      let stream = try service(server.port).openWrites(token: nil) { events.put($0) }
      guard case .opened = await events.next() else { throw Ended() }
      stream.greet(token: [1, 2])
      let call = try await server.next()
      let greeting = try await call.receive(ProtoWriteRequest.self)
      #expect(greeting.database == "projects/test/databases/(default)")
      #expect(greeting.writes.isEmpty && greeting.streamToken.isEmpty)
      try call.send(ProtoWriteResponse.with { $0.streamToken = .init([3]) })
      guard case .greeted(let token) = await events.next() else { throw Ended() }
      #expect(token == [3])
      let path = try DocumentPath("rooms/eros")
      let patch = Mutation(
        path,
        .patch(
          ["a": ["b": 1]], FieldMask([try FieldPath(["a", "b"]), try FieldPath(["x.y"])]),
          [FieldTransform(try FieldPath(["n"]), .increment(.integer(2)))]), if: .exists(true))
      stream.send([patch, Mutation(path, .delete), Mutation(path, .verify)], token: token)
      let request = try await call.receive(ProtoWriteRequest.self)
      #expect(request.database.isEmpty && Array(request.streamToken) == [3])
      #expect(request.writes.count == 3)
      #expect(request.writes[0].update.name == "\(Answers.root)/rooms/eros")
      #expect(request.writes[0].updateMask.fieldPaths == ["a.b", "`x.y`"])
      #expect(request.writes[0].updateTransforms.map(\.increment.integerValue) == [2])
      #expect(request.writes[0].currentDocument.exists)
      #expect(request.writes[1].delete == "\(Answers.root)/rooms/eros")
      #expect(request.writes[2].verify == "\(Answers.root)/rooms/eros")
      try call.send(
        ProtoWriteResponse.with {
          $0.streamToken = .init([4])
          $0.commitTime = Answers.time(9)
          $0.writeResults = [
            .with {
              $0.updateTime = Answers.time(9)
              $0.transformResults = [.with { $0.integerValue = 5 }]
            }, .init(), .init(),
          ]
        })
      guard case .answered(let result, token: [4]) = await events.next() else { throw Ended() }
      #expect(result.commitTime.seconds == 9 && result.results.map(\.transforms) == [[5], [], []])
      #expect(result.results.map(\.updateTime?.seconds) == [9, nil, nil])
      stream.send([Mutation(path, .delete)], token: [4])
      stream.close()
      guard case .closed(nil) = await events.next() else { throw Ended() }
      #expect(try await call.receive(ProtoWriteRequest.self).writes.count == 1)
      await call.ended()
    }

    @Test("A greeting shows the last stream's token to a server that goes on with it")
    func resumesWrites() async throws {
      let server = try await ScriptedServer()
      let stream = try service(server.port) { $0.resumesWrites = true }
        .openWrites(token: nil) { _ in }
      stream.greet(token: [1, 2])
      let greeting = try await server.next().receive(ProtoWriteRequest.self)
      #expect(Array(greeting.streamToken) == [1, 2])
      stream.close()
    }
  }
#endif
