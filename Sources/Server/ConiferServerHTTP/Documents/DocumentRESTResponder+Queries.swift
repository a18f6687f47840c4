import ConiferDocument
import ConiferDocumentServer
import ConiferTree
import ConiferWire

// Reads whose answers are arrays, as those of the service's streams, and lists of collections.
extension DocumentRESTResponder {
  func batchGet(_ call: Call) async throws(StatusError) -> [UInt8] {
    try call.checkParameters([])
    var paths: [DocumentPath] = []
    var mask: FieldMask?
    var moment = ReadMomentMembers()
    try call.readBody { (reader, key) throws(JSONError) in
      switch key {
      case "documents":
        try reader.elements(key) { (reader, event) throws(JSONError) in
          guard paths.count < limits.writes else {
            throw reader.refused("More than \(limits.writes) documents are asked for. Split them.")
          }
          paths.append(try reader.path(event, in: call.database))
        }
      case "mask": mask = try reader.mask()
      default: if try !moment.take(&reader, key) { try reader.unknown(key) }
      }
    }
    let found = try await call.api.documents(paths, moment.moment)
    return try array(of: found) { (writer, emit) throws(StatusError) in
      for document in found.value {
        writer.beginObject()
        if document.fields == nil {
          writer.key("missing")
          writer.string("\(DocumentName(document.path, in: call.database))")
        } else {
          writer.key("found")
          writer.document(document.showing(mask), in: call.database)
        }
        try emit(&writer)
      }
    }
  }

  func runQuery(_ call: Call, below parent: DocumentPath?) async throws(StatusError) -> [UInt8] {
    try call.checkParameters([])
    var parts: StructuredQuery?
    var moment = ReadMomentMembers()
    try call.readBody { (reader, key) throws(JSONError) in
      if key == "structuredQuery" {
        parts = try reader.structuredQuery()
      } else if try !moment.take(&reader, key) {
        try reader.unknown(key)
      }
    }
    let asked = try QueryRequest(parts, below: parent, in: call.database)
    let found = try await call.api.documents(asked.query, moment.moment)
    return try array(of: found) { (writer, emit) throws(StatusError) in
      let shown = asked.shown(found.value)
      for document in shown {
        writer.beginObject()
        writer.key("document")
        writer.document(document.showing(asked.mask), in: call.database)
        try emit(&writer)
      }
      // A query without results still answers with its read time.
      if shown.isEmpty {
        writer.beginObject()
        let skipped = asked.skipped(found.value)
        if skipped > 0 {
          writer.key("skippedResults")
          writer.integer(Int64(skipped))
        }
        try emit(&writer)
      }
    }
  }

  func runAggregationQuery(
    _ call: Call, below parent: DocumentPath?
  ) async throws(StatusError) -> [UInt8] {
    try call.checkParameters([])
    var parts: StructuredQuery?
    var aggregations: [Aggregation] = []
    var moment = ReadMomentMembers()
    try call.readBody { (reader, key) throws(JSONError) in
      if key == "structuredAggregationQuery" {
        try reader.members(key) { (reader, key) throws(JSONError) in
          switch key {
          case "structuredQuery": parts = try reader.structuredQuery()
          case "aggregations":
            try reader.elements(key) { (reader, event) throws(JSONError) in
              guard event == .beginObject else {
                throw reader.refused("An element of \(key) is an object.")
              }
              aggregations.append(try reader.aggregation())
            }
          default: try reader.unknown(key)
          }
        }
      } else if try !moment.take(&reader, key) {
        try reader.unknown(key)
      }
    }
    aggregations = try Aggregation.named(aggregations)
    let asked = try QueryRequest(parts, below: parent, in: call.database)
    let found = try await call.api.aggregate(
      asked.query, skipping: asked.offset, aggregations.map(\.aggregate), moment.moment)
    return try array(of: found) { (writer, emit) throws(StatusError) in
      writer.beginObject()
      writer.key("result")
      writer.beginObject()
      writer.key("aggregateFields")
      writer.beginObject()
      for (aggregation, value) in zip(aggregations, found.value) {
        writer.key(aggregation.alias)
        writer.typed(aggregation.shown(value, isEmpty: asked.isEmpty))
      }
      writer.endObject()
      writer.endObject()
      try emit(&writer)
    }
  }

  func listCollectionIDs(
    _ call: Call, below parent: DocumentPath?
  ) async throws(StatusError) -> [UInt8] {
    try call.checkParameters([])
    var size = limits.page
    var token: String?
    var moment = ReadMoment.newest
    try call.readBody { (reader, key) throws(JSONError) in
      switch key {
      case "pageSize": size = try reader.count(key)
      case "pageToken": token = try reader.text(key)
      case "readTime": moment = .past(try reader.time(key))
      default: try reader.unknown(key)
      }
    }
    let found = try await call.api.collectionIDs(
      below: parent, size: size == 0 ? limits.page : min(size, limits.page),
      from: Call.pageToken(token), moment)
    var writer = JSONWriter()
    writer.beginObject()
    let ids = found.value.ids
    if !ids.isEmpty {
      writer.key("collectionIds")
      writer.beginArray()
      for id in ids { writer.string(id) }
      writer.endArray()
    }
    if let next = found.value.next {
      writer.key("nextPageToken")
      writer.string(Self.pageToken(next))
    }
    writer.endObject()
    return writer.bytes
  }

  /// An array of answers, each with the time of the read. The transaction that was begun comes first, alone.
  ///
  /// - Parameter body: begins objects, and ends each by `emit`.
  private func array<R>(
    of read: ReadResult<R>,
    _ body: (
      inout JSONWriter, _ emit: (inout JSONWriter) throws(StatusError) -> Void
    ) throws(StatusError) -> Void
  ) throws(StatusError) -> [UInt8] {
    var writer = JSONWriter()
    var claimed = 0
    writer.beginArray()
    if let transaction = read.transaction {
      writer.beginObject()
      writer.key("transaction")
      writer.string(Base64.encode(transaction))
      writer.endObject()
    }
    let time = read.time.rfc3339
    try body(&writer) { (writer) throws(StatusError) in
      writer.key("readTime")
      writer.string(time)
      writer.endObject()
      guard writer.bytes.count <= limits.answer else {
        throw StatusError(
          .resourceExhausted,
          "The answer has more than \(limits.answer) bytes. Ask for less, with a limit.")
      }
      guard read.share.claim(writer.bytes.count - claimed) else { throw ReadShare.exceeded }
      claimed = writer.bytes.count
    }
    writer.endArray()
    return writer.bytes
  }
}
