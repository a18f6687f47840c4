#if GRPC
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferProtobuf
  import ConiferWire
  import GRPCCore
  import SwiftProtobuf

  // Commits and transactions.
  extension FirestoreService {
    func commit(
      _ request: ProtoCommitRequest, _ token: String?, _ answer: Answer<ProtoCommitResponse>
    ) async throws {
      let database = try ResourceName(database: request.database).database
      let writes = try Self.writes(request.writes, in: database, atMost: RequestLimits.writes)
      let transaction = request.transaction.isEmpty ? nil : [UInt8](request.transaction)
      let result = try await api(database, token).commit(writes, in: transaction)
      try await answer.write(
        .with {
          $0.writeResults = result.results.map { ProtoWriteResult($0) }
          $0.commitTime = Google_Protobuf_Timestamp(result.commitTime)
        })
    }

    func batchWrite(
      _ request: ProtoBatchWriteRequest, _ token: String?,
      _ answer: Answer<ProtoBatchWriteResponse>
    ) async throws {
      let database = try ResourceName(database: request.database).database
      let writes = try Self.writes(request.writes, in: database, atMost: RequestLimits.batch)
      let results = try await api(database, token).commitEach(writes)
      try await answer.write(
        .with {
          for result in results {
            switch result {
            case .success(let result):
              $0.writeResults.append(ProtoWriteResult(result))
              $0.status.append(ProtoStatus())
            case .failure(let error):
              $0.writeResults.append(ProtoWriteResult())
              $0.status.append(ProtoStatus(error))
            }
          }
        })
    }

    func begin(
      _ request: ProtoBeginTransactionRequest, _ token: String?,
      _ answer: Answer<ProtoBeginTransactionResponse>
    ) async throws {
      let database = try ResourceName(database: request.database).database
      let name = try api(database, token).begin(try TransactionKind(request.options))
      try await answer.write(.with { $0.transaction = name.data })
    }

    func rollBack(
      _ request: ProtoRollbackRequest, _ token: String?, _ answer: Answer<Google_Protobuf_Empty>
    ) async throws {
      let database = try ResourceName(database: request.database).database
      try api(database, token).rollBack(try ReadMoment.name(request.transaction))
      try await answer.write(Google_Protobuf_Empty())
    }

    static func writes(
      _ writes: [ProtoWrite], in database: DatabaseID, atMost most: Int
    ) throws(StatusError) -> [Mutation] {
      guard writes.count <= most else {
        throw StatusError(.invalidArgument, "More than \(most) writes are sent. Split them.")
      }
      return try writes.map { (write) throws(StatusError) in try Mutation(write, in: database) }
    }
  }
#endif
