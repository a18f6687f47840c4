#if GRPC
  import ConiferDocumentServer
  import ConiferProtobuf
  import ConiferServerGRPC
  import ConiferWire
  import SwiftProtobuf
  import Testing

  @testable import ConiferGRPC

  /// What clients do often, and Conifer's server does not take for an attack.
  @Suite(.timeLimit(.minutes(5))) struct FloodTests {
    private func answers(_ served: ServedDatabase, _ connection: RawConnection) async throws {
      let get = ProtoGetDocumentRequest.with { $0.name = "\(served.root)/rooms/none" }
      let call = try await connection.call("GetDocument")
      try await call.send(RawStream.framed(try get.serializedBytes()), ends: true)
      #expect(await call.status() == .notFound)
    }

    /// gRPC's clients ask every ten seconds at most, with calls or without; to measure the connection they ask with each
    /// part of an answer that comes.
    @Test(
      "A client may ask for signs of life often, before its first call, during calls and between them"
    )
    func pings() async throws {
      try await served { served in
        let connection = try await RawConnection(served.port)
        for _ in 0..<20 { #expect(await connection.ping() == nil) }
        try await answers(served, connection)
        for _ in 0..<20 { #expect(await connection.ping() == nil) }
        let listen = try await connection.call("Listen")
        for _ in 0..<20 { #expect(await connection.ping() == nil) }
        try await answers(served, connection)
        await listen.close()
        #expect(!connection.isClosed)
      }
    }

    @Test("A client that asks for signs of life more often than it may is disconnected")
    func tooManyPings() async throws {
      try await served(.open) {
        $0.timeouts.ping = .seconds(3_600)
      } _: { served in
        let connection = try await RawConnection(served.port)
        var words: String?
        for _ in 0..<10 where words == nil { words = await connection.ping() }
        #expect(words == "too_many_pings")
        try await served.until { served.grpc.connectionCount == 0 }
      }
    }

    /// One more within 30 s would end the connection: SwiftNIO takes that for an attack.
    @Test("A client that cancels 200 listens at once keeps its connection")
    func cancels() async throws {
      try await served { served in
        let connection = try await RawConnection(served.port)
        let listen = ProtoListenRequest.with {
          $0.database = served.name
          $0.addTarget.targetID = 2
          $0.addTarget.documents.documents = ["\(served.root)/rooms/a"]
        }
        func begin() async throws -> RawStream {
          let call = try await connection.call("Listen")
          try await call.send(RawStream.framed(try listen.serializedBytes()))
          #expect(try await call.message(ProtoListenResponse.self) != nil)
          return call
        }
        // A connection has 100 calls at a time.
        for _ in 0..<2 {
          var calls: [RawStream] = []
          for _ in 0..<100 { calls.append(try await begin()) }
          for call in calls { await call.close() }
        }
        try await answers(served, connection)
        try await served.until { served.grpc.callCount == 0 }
        #expect(!connection.isClosed)
      }
    }
  }
#endif
