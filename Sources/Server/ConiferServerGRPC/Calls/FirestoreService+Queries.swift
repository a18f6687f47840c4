#if GRPC
  import ConiferDocument
  import ConiferDocumentServer
  import ConiferProtobuf
  import ConiferWire
  import GRPCCore
  import SwiftProtobuf

  // Reads whose answers are streams. The transaction that was begun comes first, alone.
  extension FirestoreService {
    func batchGet(
      _ request: ProtoBatchGetDocumentsRequest, _ token: String?,
      _ answer: Answer<ProtoBatchGetDocumentsResponse>
    ) async throws {
      let database = try ResourceName(database: request.database).database
      guard request.documents.count <= RequestLimits.writes else {
        throw StatusError(
          .invalidArgument,
          "More than \(RequestLimits.writes) documents are asked for. Split them.")
      }
      let paths = try request.documents.map { (name) throws(StatusError) in
        try DocumentPath.requested(name, in: database)
      }
      let mask = request.hasMask ? try FieldMask(request.mask) : nil
      let moment = try ReadMoment(request.consistencySelector)
      let found = try await api(database, token).documents(paths, moment)
      // The documents are in memory until the last one is written.
      defer { withExtendedLifetime(found.share) {} }
      let time = Google_Protobuf_Timestamp(found.time)
      if let begun = found.transaction {
        try await answer.write(
          .with {
            $0.transaction = begun.data
            $0.readTime = time
          })
      }
      for document in found.value {
        try await answer.write(
          .with {
            if document.fields == nil {
              $0.missing = "\(DocumentName(document.path, in: database))"
            } else {
              $0.found = ProtoDocument(document.showing(mask), in: database)
            }
            $0.readTime = time
          })
      }
    }

    func runQuery(
      _ request: ProtoRunQueryRequest, _ token: String?, _ answer: Answer<ProtoRunQueryResponse>
    ) async throws {
      guard request.unknownFields.data.isEmpty else { throw Self.unknownPart }
      let parent = try ResourceName(parent: request.parent)
      var parts: StructuredQuery?
      if case .structuredQuery(let query) = request.queryType { parts = try StructuredQuery(query) }
      let asked = try QueryRequest(parts, below: parent.document, in: parent.database)
      let moment = try ReadMoment(request.consistencySelector)
      let found = try await api(parent.database, token).documents(asked.query, moment)
      // The documents are in memory until the last one is written.
      defer { withExtendedLifetime(found.share) {} }
      let time = Google_Protobuf_Timestamp(found.time)
      if let begun = found.transaction {
        try await answer.write(
          .with {
            $0.transaction = begun.data
            $0.readTime = time
          })
      }
      let shown = asked.shown(found.value)
      for document in shown {
        try await answer.write(
          .with {
            $0.document = ProtoDocument(document.showing(asked.mask), in: parent.database)
            $0.readTime = time
          })
      }
      // Whoever asks learns as of when there is nothing.
      guard shown.isEmpty else { return }
      try await answer.write(
        .with {
          $0.skippedResults = Int32(clamping: asked.skipped(found.value))
          $0.readTime = time
        })
    }

    func aggregate(
      _ request: ProtoRunAggregationQueryRequest, _ token: String?,
      _ answer: Answer<ProtoRunAggregationQueryResponse>
    ) async throws {
      guard request.unknownFields.data.isEmpty else { throw Self.unknownPart }
      let parent = try ResourceName(parent: request.parent)
      var parts: StructuredQuery?
      let wanted = request.structuredAggregationQuery
      if case .structuredQuery(let query) = wanted.queryType { parts = try StructuredQuery(query) }
      let aggregations = try Aggregation.named(
        wanted.aggregations.map { (aggregation) throws(StatusError) in
          try Aggregation(aggregation)
        })
      let asked = try QueryRequest(parts, below: parent.document, in: parent.database)
      let moment = try ReadMoment(request.consistencySelector)
      let found = try await api(parent.database, token).aggregate(
        asked.query, skipping: asked.offset, aggregations.map(\.aggregate), moment)
      // The documents are in memory until the last one is written.
      defer { withExtendedLifetime(found.share) {} }
      let time = Google_Protobuf_Timestamp(found.time)
      if let begun = found.transaction {
        try await answer.write(
          .with {
            $0.transaction = begun.data
            $0.readTime = time
          })
      }
      let values = zip(aggregations, found.value).map { aggregation, value in
        ProtoField(
          MapValue.Field(aggregation.alias, aggregation.shown(value, isEmpty: asked.isEmpty)))
      }
      try await answer.write(
        .with {
          $0.result.aggregateFields = values
          $0.readTime = time
        })
    }

    private static let unknownPart = StatusError(
      .unimplemented,
      "The request has a part that this server does not know, such as explainOptions. Leave it out."
    )
  }

  extension Aggregation {
    fileprivate init(
      _ aggregation: ProtoStructuredAggregationQuery.Aggregation
    ) throws(StatusError) {
      let alias = aggregation.alias
      switch aggregation.operator {
      case .count(let count):
        guard !count.hasUpTo || count.upTo.value > 0 else {
          throw StatusError(.invalidArgument, "The value of upTo is a number from 1.")
        }
        self.init(
          alias: alias, aggregate: .count,
          upTo: count.hasUpTo ? Int(clamping: count.upTo.value) : nil)
      case .sum(let sum): self.init(alias: alias, aggregate: .sum(try FieldPath(sum.field)))
      case .avg(let average):
        self.init(alias: alias, aggregate: .average(try FieldPath(average.field)))
      case nil:
        throw StatusError(.invalidArgument, "An aggregation is one of count, sum and avg.")
      }
    }
  }
#endif
