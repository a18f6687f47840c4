#if GRPC
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferProtobuf
  import ConiferServerGRPC
  import ConiferWire
  import NetworkTestSupport
  import SwiftProtobuf
  import TestSupport
  import Testing

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #elseif canImport(Darwin)
    import Darwin
  #endif

  @testable import ConiferGRPC

  /// What Conifer's server takes from clients, and how it ends.
  @Suite(.timeLimit(.minutes(8))) struct LimitTests {
    private typealias Listen = RawCall<ProtoListenRequest, ProtoListenResponse>

    private func listen(_ served: ServedDatabase) -> ProtoListenRequest {
      .with {
        $0.database = served.name
        $0.addTarget.targetID = 2
        $0.addTarget.documents.documents = ["\(served.root)/rooms/a"]
      }
    }

    @Test("A request that is too large, and a call too many, are refused")
    func limits() async throws {
      try await served(.open) {
        $0.limits.message = 1_000
        $0.limits.calls = 2
      } _: { served in
        let large = try await served.refusal(
          "GetDocument",
          ProtoGetDocumentRequest.with {
            $0.name = "\(served.root)/rooms/\(String(repeating: "x", count: 1_200))"
          })
        // It would never fit: the client is not to send it again.
        #expect(large?.code == .invalidArgument)
        var lines: [Listen] = []
        for _ in 0..<2 {
          let line = Listen(served.port, "Listen")
          line.send(listen(served))
          _ = try await line.next()
          lines.append(line)
        }
        let third = Listen(served.port, "Listen")
        third.send(listen(served))
        #expect(await third.end()?.code == .resourceExhausted)
        lines.removeFirst().finish()
        try await served.until { served.grpc.callCount <= 1 }
        let fourth = Listen(served.port, "Listen")
        fourth.send(listen(served))
        _ = try await fourth.next()
        #expect(lines.count == 1)
      }
    }

    @Test("A connection from which nothing comes is closed, and one that answers when asked is not")
    func silence() async throws {
      // A busy machine may keep a client from answering for a while: a longer wait follows then. A server that closes
      // whoever answers does so at any length.
      for timeout in [8, 40] {
        if try await outlivesSilence(.seconds(timeout)) { return }
      }
      #expect(try await outlivesSilence(.seconds(120)))
    }

    /// Whether a call whose client answers lasts longer than connections from which nothing comes.
    private func outlivesSilence(_ timeout: Duration) async throws -> Bool {
      var outlives = false
      try await served(.open) {
        $0.timeouts.keepAlive = .seconds(1)
        $0.timeouts.keepAliveTimeout = timeout
      } _: { served in
        let line = Listen(served.port, "Listen")
        line.send(listen(served))
        do { _ = try await line.next() } catch { return }
        let files = ["", "PRI * HTTP/2.0\r\n"].map { beginning in
          let file = Sockets.connect(served.port)
          #expect(file >= 0)
          _ = Array(beginning.utf8).withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
          return file
        }
        // Each is closed: reading ends.
        for file in files {
          try await Self.ended(file)
          close(file)
        }
        outlives = served.grpc.callCount == 1 && line.isOpen
      }
      return outlives
    }

    /// Waits until the server has closed a connection.
    private static func ended(_ file: Int32) async throws {
      var bytes = [UInt8](repeating: 0, count: 1 << 10)
      try await eventually("the server closes a silent connection") {
        let count = recv(file, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)
      }
    }

    @Test("A connection too many is closed, and others may come once one has ended")
    func connections() async throws {
      try await served(.open) {
        $0.limits.connections = 1
      } _: { served in
        let first = Listen(served.port, "Listen")
        first.send(listen(served))
        _ = try await first.next()
        let file = Sockets.connect(served.port)
        var byte: UInt8 = 0
        #expect(file >= 0 && read(file, &byte, 1) <= 0)
        close(file)
        first.cancel()
        try await served.until { served.grpc.connectionCount == 0 }
        let second = Listen(served.port, "Listen")
        second.send(listen(served))
        _ = try await second.next()
      }
    }

    @Test("Streams end as unavailable when the server stops, or its data is closed")
    func stop() async throws {
      for closesData in [false, true] {
        try await served { served in
          let (line, writes) = (
            Listen(served.port, "Listen"),
            RawCall<ProtoWriteRequest, ProtoWriteResponse>(served.port, "Write")
          )
          line.send(listen(served))
          writes.send(.with { $0.database = served.name })
          _ = try await (line.next(), writes.next())
          // One that has said nothing yet.
          let silent = Listen(served.port, "Listen")
          try await served.until { served.grpc.callCount == 3 }
          if closesData {
            try await served.documents.close()
          } else {
            await served.grpc.stop()
            #expect(served.grpc.port == nil)
            #expect(await silent.end()?.code == .unavailable)
          }
          #expect(await line.end()?.code == .unavailable)
          #expect(await writes.end()?.code == .unavailable)
        }
      }
    }

    @Test("Clients that go away leave nothing")
    func leaving() async throws {
      try await served { served in
        try await served.fill(100)
        for n in 0..<20 {
          let line = Listen(served.port, "Listen")
          line.send(
            .with {
              $0.database = served.name
              $0.addTarget.targetID = 2
              $0.addTarget.query.parent = served.root
              $0.addTarget.query.structuredQuery.from = [.with { $0.collectionID = "rooms" }]
            })
          if n.isMultiple(of: 2) { _ = try await line.next() }
          line.cancel()
        }
        try await served.until { served.grpc.callCount == 0 && served.grpc.connectionCount == 0 }
      }
    }

    @Test(
      "Bytes that are no HTTP/2 end their connection and nothing else", arguments: Seeded.seeds(3))
    func garbage(_ seed: UInt64) async throws {
      try await served { served in
        var random = Seeded(seed)
        let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + [0, 0, 0, 4, 0, 0, 0, 0, 0]
        for _ in 0..<50 {
          let file = Sockets.connect(served.port)
          #expect(file >= 0)
          var bytes = random.chance(70) ? preface : []
          for _ in 0..<random.below(5) {
            let length = random.below(200)
            // A frame of some kind, whose length may lie.
            bytes += [0, 0, UInt8(length), UInt8(random.below(12)), UInt8(random.below(256))]
            bytes += [0, 0, 0, UInt8(random.below(4))]
            bytes += (0..<(random.chance(80) ? length : random.below(200))).map { _ in
              UInt8(random.below(256))
            }
          }
          _ = send(file, bytes, bytes.count, Int32(MSG_NOSIGNAL))
          close(file)
        }
        let get = ProtoGetDocumentRequest.with { $0.name = "\(served.root)/rooms/a" }
        let answer = try await served.refusal("GetDocument", get)
        #expect(answer?.code == .notFound, "seed \(seed)")
        try await served.until { served.grpc.connectionCount <= 1 }
      }
    }

    @Test("A port that is taken is told")
    func taken() async throws {
      try await served { served in
        let second = DocumentGRPCServer(
          served.documents, DocumentGRPCConfiguration(host: "127.0.0.1", port: served.port))
        let error = await #expect(throws: DocumentGRPCError.self) { try await second.start() }
        #expect(error?.message.contains("\(served.port)") == true)
        let third = DocumentGRPCServer(
          served.documents, DocumentGRPCConfiguration(host: "no such host", port: 0))
        _ = await #expect(throws: DocumentGRPCError.self) { try await third.start() }
      }
    }
  }
#endif
