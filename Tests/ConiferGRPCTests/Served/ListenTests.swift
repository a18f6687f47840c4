#if GRPC
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferProtobuf
  import ConiferServerGRPC
  import ConiferWire
  import SwiftProtobuf
  import Testing

  @testable import ConiferGRPC

  /// Streams of listens of Conifer's server.
  @Suite(.timeLimit(.minutes(5))) struct ListenTests {
    private func all(in served: ServedDatabase) throws -> DocumentTarget {
      DocumentQuery(.collection(try CollectionPath("rooms")), in: served.database).target
    }

    private func write(_ served: ServedDatabase, _ id: String, _ fields: MapValue?) async throws {
      let path = try DocumentPath("rooms/\(id)")
      try await served.documents.commit(
        [Mutation(path, fields.map { .set($0, []) } ?? .delete)], in: served.database)
    }

    @Test(
      "A listen goes on from its token with what changed, also at another server of the same data")
    func resume() async throws {
      let documents = try DocumentServer()
      var (port, token) = (0, [UInt8]())
      try await served(on: documents) { served in
        port = served.port
        try await served.fill(20)
        let line = WatchLine(try served.service())
        #expect(await line.opened())
        line.stream.add(WatchTarget(2, try all(in: served)))
        let first = try await line.moment()
        #expect(first.changes.matching.count == 20)
        #expect(first.changes.matching.allSatisfy { $0.createTime != nil })
        #expect(first.changes.events == [.added, .current])
        token = first.token
        await served.grpc.stop()
        #expect(await line.end()?.code == .unavailable)
      }
      try await served(on: documents, port: port) { served in
        try await write(served, "r5", ["n": 100])
        try await write(served, "r7", nil)
        let line = WatchLine(try served.service())
        var target = WatchTarget(2, try all(in: served), resumeToken: token)
        target.expectedCount = 20
        line.stream.add(target)
        #expect(await line.opened())
        let second = try await line.moment()
        #expect(second.changes.matching.map { "\($0.path)" } == ["rooms/r5"])
        #expect(second.changes.events == [.added, .current])
        let left = second.changes.compactMap { change -> String? in
          guard case .document(let document, [], let ids) = change, ids == [2] else { return nil }
          return document.fields == nil ? "\(document.path)" : nil
        }
        #expect(left == ["rooms/r7"])
      }
    }

    @Test("Who has another number of documents is told the number and a filter of their names")
    func filter() async throws {
      try await served { served in
        try await served.fill(5)
        let line = WatchLine(try served.service())
        line.stream.add(WatchTarget(2, try all(in: served)))
        #expect(await line.opened())
        let token = try await line.moment().token
        line.stream.remove(2)
        #expect(try await line.moment().changes.events == [.removed])
        var target = WatchTarget(4, try all(in: served), resumeToken: token)
        target.expectedCount = 7
        line.stream.add(target)
        let changes = try await line.moment().changes
        let told = changes.compactMap { change -> (Int, BloomFilter?)? in
          if case .filter(4, let count, let filter) = change { (count, filter) } else { nil }
        }
        let (count, names) = try #require(told.first)
        #expect(told.count == 1 && count == 5)
        for n in 0..<5 { #expect(names?.mayContain("\(served.root)/rooms/r\(n)") == true) }
        let wrong = (100..<200).count { names?.mayContain("\(served.root)/rooms/r\($0)") == true }
        #expect(wrong < 10)
      }
    }

    @Test("A target that is none, or not allowed, is refused, and the others go on")
    func refusedTargets() async throws {
      let access = DocumentAccess(allows: { user, request in
        if case .list(let target) = request {
          target.limit != nil || user?.isAdmin == true
        } else {
          true
        }
      })
      try await served(access) { served in
        try await served.fill(3)
        let line = WatchLine(try served.service())
        #expect(await line.opened())
        let all = try all(in: served)
        line.stream.add(WatchTarget(2, all))
        let denied = try await line.moment().changes.events
        guard case .rejected(let error)? = denied.first, denied.count == 1 else {
          Issue.record("\(denied)")
          return
        }
        #expect(error.code == .permissionDenied)
        let odd = DocumentTarget(
          source: all.source, filter: nil, orders: all.orders, limit: -1, start: nil, end: nil)
        line.stream.add(WatchTarget(4, odd))
        guard case .rejected(let second)? = try await line.moment().changes.events.first else {
          Issue.record("It was taken.")
          return
        }
        #expect(second.code == .invalidArgument)
        let two = try DocumentQuery(all.source, in: served.database).limited(to: 2).target
        line.stream.add(WatchTarget(6, two))
        #expect(try await line.moment().changes.matching.count == 2)
        let bad = WatchLine(
          try service(served.port, DatabaseID(project: "a b")) { $0.openTimeout = .seconds(600) })
        bad.stream.add(WatchTarget(2, two))
        #expect(await bad.end()?.code == .invalidArgument)
      }
    }

    @Test("Rules that change end what they no longer allow, and a token that ends ends the stream")
    func access() async throws {
      let access = DocumentAccess(user: { $0 == "bad" ? nil : DocumentAccess.anyToken($0) })
      try await served(access) { served in
        try await served.fill(1)
        let line = WatchLine(try served.service(), token: "ada")
        line.stream.add(WatchTarget(2, try all(in: served)))
        #expect(await line.opened())
        _ = try await line.moment()
        served.documents.setAccess(DocumentAccess(allows: { user, _ in user?.id == "ben" }))
        guard case .rejected(let error)? = try await line.moment().changes.events.first else {
          Issue.record("It goes on.")
          return
        }
        #expect(error.code == .permissionDenied)
        served.documents.expireTokens()
        #expect(await line.end()?.code == .unauthenticated)
        served.documents.setAccess(access)
        let refused = WatchLine(try served.service(), token: "bad")
        refused.stream.add(WatchTarget(2, try all(in: served)))
        #expect(await refused.end()?.code == .unauthenticated)
      }
    }

    /// The client reads 64 messages ahead, and windows and sockets have room for some 20 MB.
    @Test("For a client that does not read nothing is queued: it is told the outcome")
    func slowReader() async throws {
      try await served { served in
        let line = WatchLine(try served.service())
        line.stream.add(WatchTarget(2, try all(in: served)))
        #expect(await line.opened())
        let text = String(repeating: "x", count: 100_000)
        for n in 0..<600 {
          try await write(served, "r", ["n": .integer(Int64(n)), "text": .string(text)])
        }
        await served.documents.waitUntilIdle()
        var versions: [Int64] = []
        while versions.last != 599 {
          for document in try await line.moment().changes.matching {
            if case .integer(let n)? = document.fields?["n"] { versions.append(n) }
          }
        }
        #expect(versions == versions.sorted() && versions.count < 500, "\(versions.count)")
      }
    }

    @Test("A large result comes whole, in one moment")
    func large() async throws {
      try await served { served in
        let text = String(repeating: "0123456789", count: 90_000)
        for n in 0..<12 { try await write(served, "r\(n)", ["text": .string(text)]) }
        let line = WatchLine(try served.service())
        line.stream.add(WatchTarget(2, try all(in: served)))
        #expect(await line.opened())
        let documents = try await line.moment().changes.matching
        #expect(documents.count == 12)
        #expect(documents.allSatisfy { $0.fields?["text"] == .string(text) })
      }
    }

    @Test("Targets without a number get one, and a request for nothing ends the stream")
    func numbers() async throws {
      try await served { served in
        try await served.fill(2)
        let requests: [ProtoListenRequest] = (0..<2).map { n in
          ProtoListenRequest.with {
            $0.database = served.name
            $0.addTarget.documents.documents = ["\(served.root)/rooms/r\(n)"]
          }
        }
        let talk = RawCall<ProtoListenRequest, ProtoListenResponse>(served.port, "Listen")
        for request in requests { talk.send(request) }
        var added: [Int32] = []
        while added.count < 2 {
          let answer = try await talk.next()
          if answer.targetChange.targetChangeType == .add { added += answer.targetChange.targetIds }
        }
        #expect(added == [1, 2])
        talk.send(
          .with {
            $0.database = served.name
            $0.addTarget.documents.documents = ["\(served.root)/rooms/a", "\(served.root)/rooms/b"]
          })
        var cause: ProtoStatus?
        while cause == nil {
          let change = try await talk.next().targetChange
          if change.hasCause { cause = change.cause }
        }
        #expect(cause?.code == 12)
        talk.send(.with { $0.database = served.name })
        #expect(await talk.end()?.code == .invalidArgument)
        // A number that the client gives later would be another target's one day.
        let mixed = RawCall<ProtoListenRequest, ProtoListenResponse>(served.port, "Listen")
        for id: Int32 in [1, 2, 0, -1, 3, 0] {
          var request = requests[0]
          request.addTarget.targetID = id
          mixed.send(request)
        }
        var (given, refused): ([Int32], [Int32]) = ([], [])
        while given.count < 4 || refused.count < 2 {
          let change = try await mixed.next().targetChange
          if change.targetChangeType == .add { given += change.targetIds }
          guard change.targetChangeType == .remove else { continue }
          #expect(change.cause.code == 3)
          refused += change.targetIds
        }
        #expect(given == [1, 2, 3, 4] && refused == [-1, 3])
        // Who asks for nothing more has ended the stream.
        let short = RawCall<ProtoListenRequest, ProtoListenResponse>(served.port, "Listen")
        short.send(requests[0])
        _ = try await short.next()
        short.finish()
        #expect(await short.end() == nil)
      }
    }
  }
#endif
