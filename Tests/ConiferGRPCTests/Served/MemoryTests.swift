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

  /// The memory of what Conifer's server reads for clients.
  @Suite(.timeLimit(.minutes(5))) struct MemoryTests {
    /// Calls that read a collection, and their messages.
    enum Read: String, Sendable {
      case RunQuery, BatchGetDocuments, Listen

      fileprivate func message(_ served: ServedDatabase, _ count: Int) throws -> [UInt8] {
        let rooms = ProtoStructuredQuery.with { $0.from = [.with { $0.collectionID = "rooms" }] }
        switch self {
        case .RunQuery:
          return try ProtoRunQueryRequest.with {
            $0.parent = served.root
            $0.structuredQuery = rooms
          }.serializedBytes()
        case .BatchGetDocuments:
          return try ProtoBatchGetDocumentsRequest.with {
            $0.database = served.name
            $0.documents = (0..<count).map { "\(served.root)/rooms/r\($0)" }
          }.serializedBytes()
        case .Listen:
          return try ProtoListenRequest.with {
            $0.database = served.name
            $0.addTarget.targetID = 2
            $0.addTarget.query.parent = served.root
            $0.addTarget.query.structuredQuery = rooms
          }.serializedBytes()
        }
      }
    }

    @Test(
      "What is read counts until the client has taken it",
      arguments: [Read.RunQuery, .BatchGetDocuments])
    func held(_ read: Read) async throws { try await holds(read) }

    // It has hung twice beside all other tests of sockets, never in hundreds of runs alone, and nobody knows why yet.
    @Test(
      "What is listened to counts until the client has taken it",
      .enabled(
        if: ProcessInfo.processInfo.environment["CONIFER_LISTEN_MEMORY"] != nil,
        "It hangs now and then beside all other tests, which is not understood; set CONIFER_LISTEN_MEMORY."
      ))
    func heldByListener() async throws { try await holds(.Listen) }

    private func holds(_ read: Read) async throws {
      try await served { served in
        // Far more than gRPC takes before it waits for the client.
        let count = 40
        let text = DocumentValue.string(String(repeating: "x", count: 900_000))
        for n in 0..<count {
          let path = try DocumentPath("rooms/r\(n)")
          try await served.documents.commit(
            [Mutation(path, .set(["text": text], []))], in: served.database)
        }
        let connection = try await RawConnection(served.port)
        let call = try await connection.call(read.rawValue, reads: false)
        try await call.send(
          RawStream.framed(try read.message(served, count)), ends: read != .Listen)
        print("memory of \(read): waits for an answer")
        #expect(await call.readsSome())
        print("memory of \(read): waits until it counts")
        try await served.until { served.documents.readBytes > 10_000_000 }
        print("memory of \(read): waits until all is taken")
        try await call.read()
        if read != .Listen { #expect(await call.status() == .ok) }
        try await served.until { served.documents.readBytes == 0 }
      }
    }
  }
#endif
