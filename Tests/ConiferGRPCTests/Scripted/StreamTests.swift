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
      #expect(call.header("x-goog-api-client") == "gl-swift conifer")
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
    @Test("What is invalid and is of no document ends the stream", arguments: [true, false])
    func malformed(_ isMessage: Bool) async throws {
      let server = try await ScriptedServer()
      let line = WatchLine(try service(server.port))
      let call = try await server.next()
      if isMessage {
        try call.send(Answers.target(.noChange, token: "t", at: .max))
      } else {
        call.send([0xFF])
      }
      let error = await line.end()
      #expect(error?.code == .dataLoss && error?.message.contains("cannot be read") == true)
      await call.ended()
    }

    /// A way in which what is said of a document cannot be read.
    enum Flaw: CaseIterable, Sendable {
      case database, value, time, updateTime, text, nesting, deletionTime, removedName

      /// What is said of the document `rooms/bad` for the targets 2 and 4, the latter of which it leaves if it can.
      func bytes() throws -> [UInt8] {
        var response = Answers.document("rooms/bad", 1, at: 5, matching: [2], leaving: [4])
        switch self {
        case .database:
          response.documentChange.document.name =
            "projects/other/databases/(default)/documents/rooms/bad"
        case .value: response.documentChange.document.fields[0].value.valueType = nil
        case .time: response.documentChange.document.createTime.nanos = -1
        case .updateTime: response.documentChange.document.clearUpdateTime()
        case .text:
          response.documentChange.document.fields[0].value.stringValue = "?mark?"
          var bytes = try response.serializedBytes() as [UInt8]
          let mark = Array("?mark?".utf8)
          let place = try #require(
            bytes.indices.first { bytes[$0...].starts(with: mark) })
          bytes[place] = 0xFF
          return bytes
        case .nesting:
          var value = ProtoValue.with { $0.integerValue = 1 }
          for _ in 0..<60 { value = .with { [value] in $0.arrayValue.values = [value] } }
          response.documentChange.document.fields[0].value = value
        case .deletionTime:
          response = .with {
            $0.documentDelete.document = "\(Answers.root)/rooms/bad"
            $0.documentDelete.removedTargetIds = [2, 4]
            $0.documentDelete.readTime = .init(seconds: 0, nanos: -1)
          }
        case .removedName:
          response = .with {
            $0.documentRemove.document = "rooms/bad"
            $0.documentRemove.removedTargetIds = [2, 4]
          }
        }
        return try response.serializedBytes()
      }
    }

    @Test(
      "What is said of a document and cannot be read is told with its name and targets",
      arguments: Flaw.allCases)
    func unreadable(_ flaw: Flaw) async throws {
      let server = try await ScriptedServer()
      let line = WatchLine(try service(server.port))
      #expect(await line.opened())
      let call = try await server.next()
      call.send(try flaw.bytes())
      try call.send(Answers.target(.noChange, token: "t", at: 7))
      guard case .unreadable(let error, let ids) = try await line.said().0 else {
        throw Ended(instead: "what can be read")
      }
      #expect(error.code == .dataLoss && error.message.contains("rooms/bad"))
      #expect(ids == [2, 4])
      // The rest goes on.
      #expect(try await line.said().1 == Timestamp(seconds: 7))
      line.stream.close()
    }

    @Test("What is in a document that leaves its targets does not matter")
    func leavingUnreadable() async throws {
      let server = try await ScriptedServer()
      let line = WatchLine(try service(server.port))
      #expect(await line.opened())
      let call = try await server.next()
      var response = Answers.document("rooms/bad", 1, at: 5, matching: [], leaving: [2])
      response.documentChange.document.fields[0].value.valueType = nil
      try call.send(response)
      #expect(try await line.said().0 == .left(try DocumentPath("rooms/bad"), [2]))
      line.stream.close()
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

    /// Settings that come late double what SwiftNIO takes in of a stream.
    @Test(
      "A client that takes nothing in is told so much and no more, and reads no further",
      arguments: [false, true])
    func credit(_ isLate: Bool) async throws {
      let server = try await ScriptedServer()
      let relay = try CountingRelay(to: server.port)
      relay.holdsClient = isLate
      let base = try service(relay.port)
      let line = WatchLine(base)
      #expect(await line.opened())
      relay.holdsClient = false
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
      for _ in 0..<50 { try await answer(server, base) }
      let before = relay.count
      #expect(line.events.count == 0)
      for _ in (WatchStreamLimits.ahead + 10)..<count {
        line.stream.taken()
        _ = try await line.said()
      }
      // What was told, and four windows of 2 MiB, of the 30 MB. The sockets hold nothing beyond the windows.
      #expect(before < 10_000_000)
      #expect(relay.count >= 30_000_000)
      line.stream.close()
    }

    @Test("Large messages are told one after the other, as they are taken in")
    func creditByBytes() async throws {
      let server = try await ScriptedServer()
      let base = try service(server.port)
      let line = WatchLine(base)
      #expect(await line.opened())
      let call = try await server.next()
      var large = Answers.document("rooms/a", 1, at: 5, matching: [2])
      let (size, count) = (1_500_000, 12)
      large.documentChange.document.fields[0].value.stringValue = String(
        repeating: "x", count: size)
      for _ in 0..<count { try call.send(large) }
      let ahead = WatchStreamLimits.bytesAhead / size
      for _ in 0..<ahead { _ = try await line.said() }
      // What is asked for meanwhile gives what would come the time to come.
      for _ in 0..<50 { try await answer(server, base) }
      #expect(line.events.count == 0)
      for _ in ahead..<count {
        line.stream.taken()
        _ = try await line.said()
      }
      line.stream.close()
    }

    private func answer(_ server: ScriptedServer, _ base: GRPCService) async throws {
      let path = try DocumentPath("rooms/a")
      async let found = base.lookup([path], token: nil)
      let get = try await server.next()
      try get.send(
        ProtoBatchGetDocumentsResponse.with {
          $0.missing = "\(Answers.root)/rooms/a"
          $0.readTime = Answers.time(1)
        })
      get.end()
      #expect(try await found.count == 1)
    }

    @Test("Writes are greeted and answered in order")
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
      stream.send(
        [patch, Mutation(path, .delete), Mutation(path, .verify)], batch: nil, token: token)
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
      stream.send([Mutation(path, .delete)], batch: nil, token: [4])
      #expect(try await call.receive(ProtoWriteRequest.self).writes.count == 1)
      stream.close()
      guard case .closed(nil) = await events.next() else { throw Ended() }
      await call.ended()
    }

    private func write(_ n: Int, size: Int = 0) throws -> Mutation {
      Mutation(
        try DocumentPath("rooms/r\(n)"),
        .set(["n": .integer(Int64(n)), "text": .string(String(repeating: "x", count: size))], []))
    }

    /// A stream of writes that was greeted, as the client and the server have it.
    private func greeted(
      _ base: GRPCService, _ server: ScriptedServer
    ) async throws -> (any WriteStream, ScriptedCall, Mailbox<WriteStreamEvent>) {
      let events = Mailbox<WriteStreamEvent>()
      let stream = base.openWrites(token: nil) { events.put($0) }
      guard case .opened = await events.next() else { throw Ended() }
      stream.greet(token: [])
      let call = try await server.next()
      #expect(call.method == "Write")
      let greeting = try await call.receive(ProtoWriteRequest.self)
      #expect(greeting.writes.isEmpty)
      try call.send(ProtoWriteResponse.with { $0.streamToken = .init([1]) })
      guard case .greeted = await events.next() else { throw Ended() }
      return (stream, call, events)
    }

    /// It would be made twice, and the second time perhaps after what came later.
    @Test("What a stream of writes has not sent when it is closed is never sent")
    func cutWrites() async throws {
      let server = try await ScriptedServer()
      let relay = try CountingRelay(to: server.port)
      let base = try service(relay.port) { $0.linger = .seconds(600) }
      let (stream, call, events) = try await greeted(base, server)
      relay.holdsClient = true
      // More than sockets and buffers hold.
      let count = 120
      for n in 0..<count { stream.send([try write(n, size: 1_000_000)], batch: nil, token: [1]) }
      stream.close()
      guard case .closed(nil) = await events.next() else { throw Ended() }
      relay.holdsClient = false
      var arrived = 0
      while let bytes = await call.inbound.next() {
        let request = try ProtoWriteRequest(serializedBytes: bytes)
        if !request.writes.isEmpty { arrived += 1 }
      }
      #expect(arrived < count / 2)
      call.end()
    }

    @Test("A stream of writes begins when the server has done what the one before it sent")
    func orderOfWrites() async throws {
      let server = try await ScriptedServer()
      let base = try service(server.port) { $0.linger = .seconds(600) }
      let (first, call, _) = try await greeted(base, server)
      first.send([try write(1)], batch: nil, token: [1])
      #expect(try await call.receive(ProtoWriteRequest.self).writes.count == 1)
      first.close()
      // One that is given up before its turn never begins.
      base.openWrites(token: nil) { _ in }.close()
      async let second = greeted(base, server)
      // What is asked for meanwhile is asked at once.
      for _ in 0..<50 { try await answer(server, base) }
      #expect(server.waiting == 0)
      await call.ended()
      call.end()
      let (stream, next, _) = try await second
      stream.send([try write(2)], batch: nil, token: [1])
      #expect(try await next.receive(ProtoWriteRequest.self).writes.count == 1)
      stream.close()
    }

    @Test("A server that does not end a stream of writes keeps the next one for a moment alone")
    func endlessWrites() async throws {
      let server = try await ScriptedServer()
      let base = try service(server.port) { $0.linger = .milliseconds(1) }
      let (first, _, _) = try await greeted(base, server)
      first.close()
      let (second, _, _) = try await greeted(base, server)
      second.close()
    }

    /// They were made, and would be sent again.
    @Test("Writes count as made whatever can be read of their results")
    func unreadableResults() async throws {
      let server = try await ScriptedServer()
      let (stream, call, events) = try await greeted(service(server.port), server)
      stream.send([try write(1), try write(2)], batch: nil, token: [1])
      _ = try await call.receive(ProtoWriteRequest.self)
      try call.send(
        ProtoWriteResponse.with {
          $0.streamToken = .init([2])
          $0.commitTime = Answers.time(9)
          $0.writeResults = [
            .with {
              $0.updateTime = .init(seconds: .max, nanos: 0)
              $0.transformResults = [.with { $0.integerValue = 5 }]
            },
            .with {
              $0.updateTime = Answers.time(9)
              $0.transformResults = [.init()]
            },
          ]
        })
      guard case .answered(let result, token: [2]) = await events.next() else { throw Ended() }
      #expect(result.results.map(\.updateTime?.seconds) == [nil, 9])
      #expect(result.results.map(\.transforms) == [[5], []])
      // What is no message at all ends the stream, and is tried again soon.
      call.send([0xFF])
      guard case .closed(let error?) = await events.next() else { throw Ended() }
      #expect(error.code == .internal)
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
