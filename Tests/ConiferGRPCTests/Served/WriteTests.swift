#if GRPC
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferProtobuf
  import ConiferServerGRPC
  import ConiferWire
  import Foundation
  import SwiftProtobuf
  import Testing

  @testable import ConiferGRPC

  /// Streams of writes of Conifer's server.
  @Suite(.timeLimit(.minutes(5))) struct WriteTests {
    private typealias Talk = RawCall<ProtoWriteRequest, ProtoWriteResponse>

    private func increment(_ served: ServedDatabase, token: Data) -> ProtoWriteRequest {
      .with {
        $0.streamToken = token
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
    }

    private func count(_ served: ServedDatabase) async throws -> DocumentValue? {
      try await served.documents.document(try DocumentPath("counters/n"), in: served.database)?
        .fields["n"]
    }

    @Test("Batches are answered in order, and those that were sent before the end are made")
    func order() async throws {
      try await served { served in
        let talk = Talk(served.port, "Write")
        talk.send(.with { $0.database = served.name })
        let greeting = try await talk.next()
        #expect(!greeting.streamID.isEmpty && !greeting.streamToken.isEmpty)
        for _ in 0..<100 { talk.send(increment(served, token: greeting.streamToken)) }
        talk.finish()
        var values: [Int64] = []
        for _ in 0..<100 {
          let answer = try await talk.next()
          #expect(answer.hasCommitTime && answer.streamID.isEmpty)
          values += answer.writeResults.flatMap(\.transformResults).map(\.integerValue)
        }
        #expect(values == Array(1...100))
        #expect(await talk.end() == nil)
        #expect(try await count(served) == 100)
      }
    }

    @Test("A stream that goes on with another one's token makes no batch twice")
    func resume() async throws {
      try await served { served in
        let first = Talk(served.port, "Write")
        first.send(.with { $0.database = served.name })
        let token = try await first.next().streamToken
        first.send(increment(served, token: token))
        #expect(try await first.next().writeResults.count == 1)
        first.cancel()
        // The answer was lost: the client sends the batch again.
        let second = Talk(served.port, "Write")
        second.send(
          .with {
            $0.database = served.name
            $0.streamToken = token
          })
        _ = try await second.next()
        second.send(increment(served, token: token))
        _ = try await second.next()
        #expect(try await count(served) == 1)
        let last = Talk(served.port, "Write")
        last.send(.with { $0.database = served.name })
        last.send(increment(served, token: try await last.next().streamToken))
        _ = try await last.next()
        #expect(try await count(served) == 2)
      }
    }

    @Test("A batch that is refused ends the stream with the reason, and what follows is not made")
    func refused() async throws {
      try await served { served in
        let talk = Talk(served.port, "Write")
        talk.send(.with { $0.database = served.name })
        let token = try await talk.next().streamToken
        talk.send(
          .with {
            $0.streamToken = token
            $0.writes = [
              .with {
                $0.update.name = "\(served.root)/rooms/none"
                $0.currentDocument.exists = true
              }
            ]
          })
        talk.send(increment(served, token: token))
        #expect(await talk.end()?.code == .notFound)
        await served.documents.waitUntilIdle()
        #expect(try await count(served) == nil)
        let early = Talk(served.port, "Write")
        early.send(
          .with {
            $0 = increment(served, token: token)
            $0.database = served.name
          })
        #expect(await early.end()?.code == .invalidArgument)
        let other = Talk(served.port, "Write")
        other.send(.with { $0.database = served.name })
        other.send(.with { $0.database = "projects/other/databases/x" })
        #expect(await other.end()?.code == .invalidArgument)
      }
    }

    @Test("What cannot be read is refused after the batches before it, which are answered")
    func unreadable() async throws {
      try await served { served in
        let talk = Talk(served.port, "Write")
        talk.send(.with { $0.database = served.name })
        let token = try await talk.next().streamToken
        for _ in 0..<6 { talk.send(increment(served, token: token)) }
        talk.send(
          .with {
            $0.streamToken = token
            $0.writes = [ProtoWrite()]
          })
        for _ in 0..<6 { #expect(try await talk.next().writeResults.count == 1) }
        #expect(await talk.end()?.code == .invalidArgument)
        #expect(try await count(served) == 6)
      }
    }

    @Test("Large batches are made, and one beyond the limit is refused")
    func large() async throws {
      try await served { served in
        let service = try served.service()
        let text = String(repeating: "x", count: 1_000_000)
        func writes(_ count: Int) throws -> [Mutation] {
          try (0..<count).map { n in
            Mutation(try DocumentPath("rooms/r\(n)"), .set(["text": .string(text)], []))
          }
        }
        _ = try await service.commit(try writes(10), token: nil)
        let refusal = await #expect(throws: StatusError.self) {
          _ = try await service.commit(try writes(11), token: nil)
        }
        #expect(refusal?.code == .invalidArgument)
      }
    }
  }
#endif
