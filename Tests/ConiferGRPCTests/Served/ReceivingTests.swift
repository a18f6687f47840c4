#if GRPC
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferProtobuf
  import ConiferServerGRPC
  import ConiferStorage
  import ConiferWire
  import Foundation
  import SwiftProtobuf
  import Synchronization
  import TestSupport
  import Testing

  @testable import ConiferGRPC

  /// What Conifer's server takes in of requests before they are whole, and after.
  @Suite(.timeLimit(.minutes(5))) struct ReceivingTests {
    /// A request for a document whose name has about so many bytes, as a message of gRPC.
    private func get(_ served: ServedDatabase, _ count: Int = 0) throws -> [UInt8] {
      let request = ProtoGetDocumentRequest.with {
        $0.name = "\(served.root)/rooms/\(String(repeating: "x", count: count + 1))"
      }
      return RawStream.framed(try request.serializedBytes())
    }

    @Test(
      "A request that says how large it is is refused before it is sent, and the connection stays")
    func tooLarge() async throws {
      try await served(.open) {
        $0.limits.message = 1_000
      } _: { served in
        let connection = try await RawConnection(served.port)
        for length in [1_001, 100 << 20, 0xFFFF_FFFF] {
          let large = try await connection.call("GetDocument")
          try await large.send(RawStream.framed([1, 2, 3], length: length))
          let refusal = await large.answer()
          #expect(refusal?.code == .invalidArgument, "\(length)")
          // The words are the server's own: gRPC would refuse it too, with the connection.
          #expect(
            refusal?.message == "The message has \(length) bytes, and 1000 are allowed. Split it.")
          let small = try await connection.call("GetDocument")
          try await small.send(try get(served), ends: true)
          #expect(await small.status() == .notFound)
          await large.close()
        }
        #expect(!connection.isClosed && served.grpc.requestBytes == 0)
      }
    }

    @Test(
      "A batch that is too large is refused behind those before it, wherever pieces end",
      arguments: Seeded.seeds(4))
    func tooLargeBatch(_ seed: UInt64) async throws {
      var random = Seeded(seed)
      try await served(.open) {
        $0.limits.message = 1_000
      } _: { served in
        let connection = try await RawConnection(served.port)
        let call = try await connection.call("Write")
        let greeting = ProtoWriteRequest.with { $0.database = served.name }
        try await call.send(RawStream.framed(try greeting.serializedBytes()))
        let token = try await call.message(ProtoWriteResponse.self)?.streamToken
        let batch = try ProtoWriteRequest.with {
          $0.streamToken = try #require(token)
          $0.writes = [
            .with {
              $0.update.name = "\(served.root)/counters/n"
              $0.updateMask = .init()
              $0.updateTransforms = [
                .with {
                  $0.fieldPath = "n"
                  $0.increment.integerValue = 1
                }
              ]
            }
          ]
        }
        let one = RawStream.framed(try batch.serializedBytes())
        let count = 1 + random.below(5)
        let large = RawStream.framed([UInt8](repeating: 7, count: 5_000))
        var bytes = Array(repeatElement(one, count: count).joined()) + large + one
        while !bytes.isEmpty {
          let part = min(bytes.count, 1 + random.below(random.chance(50) ? 9 : 400))
          call.begin(Array(bytes.prefix(part)))
          bytes.removeFirst(part)
        }
        let refusal = await call.answer()
        #expect(refusal?.code == .invalidArgument, "seed \(seed)")
        #expect(refusal?.message.hasPrefix("The message has 5000 bytes") == true, "seed \(seed)")
        let made = try await served.documents.document(
          try DocumentPath("counters/n"), in: served.database)
        #expect(made?.fields["n"] == .integer(Int64(count)), "seed \(seed)")
        await call.close()
        #expect(!connection.isClosed)
        try await served.until { served.grpc.requestBytes == 0 }
      }
    }

    @Test("What is received of all requests together has a bound, and small requests have room")
    func bound() async throws {
      try await served(.open) {
        $0.limits.requests = 100_000
      } _: { served in
        let connection = try await RawConnection(served.port)
        let bytes = try get(served, 90_000)
        let first = try await connection.call("GetDocument")
        try await first.send(Array(bytes.dropLast()))
        try await served.until { served.grpc.requestBytes == bytes.count - 1 }
        let other = try await connection.call("GetDocument")
        other.begin(Array(bytes.prefix(50_000)))
        #expect(await other.status() == .resourceExhausted)
        let stranger = try await RawConnection(served.port)
        let small = try await stranger.call("GetDocument")
        try await small.send(try get(served, 1_000), ends: true)
        #expect(await small.status() == .notFound)
        try await first.send(Array(bytes.suffix(1)), ends: true)
        // The name is too long for a document.
        #expect(await first.status() == .invalidArgument)
        try await served.until { served.grpc.requestBytes == 0 }
        let again = try await connection.call("GetDocument")
        try await again.send(bytes, ends: true)
        #expect(await again.status() == .invalidArgument)
        // Who goes away leaves nothing.
        let left = try await stranger.call("GetDocument")
        try await left.send(Array(bytes.dropLast()))
        try await served.until { served.grpc.requestBytes == bytes.count - 1 }
        await left.close()
        try await served.until { served.grpc.requestBytes == 0 }
      }
    }

    @Test("Of a stream only what was not taken up counts", arguments: Seeded.seeds(3))
    func streams(_ seed: UInt64) async throws {
      var random = Seeded(seed)
      try await served(.open) {
        $0.limits.requests = 100_000
      } _: { served in
        let connection = try await RawConnection(served.port)
        let listen = try await connection.call("Listen")
        var bytes: [UInt8] = []
        for n in 1...40 {
          let request = ProtoListenRequest.with {
            $0.database = served.name
            $0.labels = [.with { $0.value = String(repeating: "x", count: random.below(9_000)) }]
            $0.addTarget.targetID = Int32(n)
            $0.addTarget.documents.documents = ["\(served.root)/rooms/r\(n)"]
          }
          bytes += RawStream.framed(try request.serializedBytes())
        }
        // In pieces that begin and end anywhere.
        while !bytes.isEmpty {
          let count = min(bytes.count, random.below(12_000) + 1)
          try await listen.send(Array(bytes.prefix(count)))
          bytes.removeFirst(count)
          try await served.until { served.grpc.requestBytes < 50_000 }
        }
        try await served.until { served.grpc.requestBytes == 0 }
        #expect(served.grpc.callCount == 1, "seed \(seed)")
        await listen.close()
        try await served.until { served.grpc.requestBytes == 0 }
      }
    }

    /// 100 MiB of one stream may wait for a database, which 12 of these batches exceed.
    @Test(
      "Large batches that come faster than they are made wait on the connection, and all are made",
      .enabled(
        if: ProcessInfo.processInfo.environment["CONIFER_LOAD"] != nil,
        "It takes more than a minute; the long run has it."))
    func flood() async throws {
      // It blocks the store's thread, which nobody else needs, once the store is there: it makes a commit of its own.
      let gate = DispatchSemaphore(value: 0)
      // A test that has failed must not keep the store.
      defer { gate.signal() }
      let isShut = Atomic(false)
      let store = GuardedStore(MemoryStore()) { _ in
        if isShut.exchange(false, ordering: .relaxed) { gate.wait() }
      }
      var options = StorageOptions(durability: .relaxed)
      options.role = .authority
      let documents = try DocumentServer(
        in: try PackedBackend(store, name: "guarded", options: options))
      try await served(on: documents) { served in
        let connection = try await RawConnection(served.port)
        let call = try await connection.call("Write")
        let greeting = ProtoWriteRequest.with { $0.database = served.name }
        try await call.send(RawStream.framed(try greeting.serializedBytes()))
        guard let token = try await call.message(ProtoWriteResponse.self)?.streamToken else {
          Issue.record("The stream was not greeted.")
          return
        }
        let part = Data(repeating: 1, count: 900_000)
        let batch = ProtoWriteRequest.with {
          $0.streamToken = token
          $0.writes = (0..<10).map { n in
            .with {
              // Nothing of it is kept but the count.
              $0.update.name = "\(served.root)/counters/n\(n)"
              $0.update.fields = [
                .with {
                  $0.key = "part"
                  $0.value.bytesValue = part
                }
              ]
              $0.updateMask = .init()
              $0.updateTransforms = [
                .with {
                  $0.fieldPath = "n"
                  $0.increment.integerValue = 1
                }
              ]
            }
          }
        }
        let bytes = RawStream.framed(try batch.serializedBytes())
        isShut.store(true, ordering: .relaxed)
        for _ in 0..<12 { call.begin(bytes) }
        // The database has two of them, the stream waits with the third at most, and the others wait before it.
        try await served.until {
          served.grpc.requestBytes >= 9 * bytes.count || served.grpc.callCount == 0
        }
        #expect(served.grpc.callCount == 1)
        gate.signal()
        try await call.send([], ends: true)
        #expect(await call.status() == .ok)
        let path = try DocumentPath("counters/n3")
        let made = try await served.documents.document(path, in: served.database)
        #expect(made?.fields["n"] == 12)
      }
    }

    /// 32 batches are read beyond those whose answers the connection has taken, which has room for a few of these.
    @Test("A client that does not read the answers to its batches is read from no more")
    func unreadAnswers() async throws {
      try await served { served in
        let connection = try await RawConnection(served.port)
        let call = try await connection.call("Write", reads: false)
        let greeting = ProtoWriteRequest.with { $0.database = served.name }
        try await call.send(RawStream.framed(try greeting.serializedBytes()))
        guard let token = try await call.message(ProtoWriteResponse.self)?.streamToken else {
          Issue.record("The stream was not greeted.")
          return
        }
        let (count, path) = (150, try DocumentPath("counters/n"))
        // The answer to each has some 8 kB.
        let batch = ProtoWriteRequest.with {
          $0.streamToken = token
          $0.writes = (0..<600).map { n in .with { $0.update.name = "\(served.root)/rooms/r\(n)" } }
          $0.writes.append(
            .with {
              $0.update.name = "\(served.root)/\(path)"
              $0.updateMask = .init()
              $0.updateTransforms = [
                .with {
                  $0.fieldPath = "n"
                  $0.increment.integerValue = 1
                }
              ]
            })
        }
        let bytes = RawStream.framed(try batch.serializedBytes())
        for _ in 0..<count { call.begin(bytes) }
        func made() async throws -> Int64 {
          let document = try await served.documents.document(path, in: served.database)
          guard case .integer(let count)? = document?.fields["n"] else { return 0 }
          return count
        }
        // Until no more are made, or too many were.
        var (last, isStill) = (try await made(), 0)
        while isStill < 100, last <= 100 {
          try await Task.sleep(for: .milliseconds(5))
          let now = try await made()
          isStill = now == last && now > 0 ? isStill + 1 : 0
          last = now
        }
        #expect(last <= 100)
        try await call.read()
        try await eventually("more are made") { try await made() > last }
        await call.close()
      }
    }
  }
#endif
