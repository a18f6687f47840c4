import ConiferDocument
import ConiferDocumentServer
import ConiferTree
import ConiferWire

// Commits and transactions.
extension DocumentRESTResponder {
  func commit(_ call: Call) async throws(StatusError) -> [UInt8] {
    try call.checkParameters([])
    var writes: [Mutation] = []
    var transaction: [UInt8]?
    try call.readBody { (reader, key) throws(JSONError) in
      switch key {
      case "writes": try read(&writes, limits.writes, &reader, call)
      case "transaction": transaction = try reader.bytes(key)
      default: try reader.unknown(key)
      }
    }
    let result = try await call.api.commit(writes, in: transaction)
    var writer = JSONWriter()
    writer.beginObject()
    if !result.results.isEmpty {
      writer.key("writeResults")
      writer.beginArray()
      for result in result.results { write(result, to: &writer) }
      writer.endArray()
    }
    writer.key("commitTime")
    writer.string(result.commitTime.rfc3339)
    writer.endObject()
    return writer.bytes
  }

  func batchWrite(_ call: Call) async throws(StatusError) -> [UInt8] {
    try call.checkParameters([])
    var writes: [Mutation] = []
    try call.readBody { (reader, key) throws(JSONError) in
      switch key {
      case "writes": try read(&writes, limits.batch, &reader, call)
      case "labels":
        guard case .map = try reader.plain(try reader.next()) else {
          throw reader.refused("The value of labels is an object.")
        }
      default: try reader.unknown(key)
      }
    }
    let results = try await call.api.commitEach(writes)
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("writeResults")
    writer.beginArray()
    for result in results {
      write((try? result.get()) ?? WriteResult(updateTime: nil), to: &writer)
    }
    writer.endArray()
    writer.key("status")
    writer.beginArray()
    for result in results {
      writer.beginObject()
      if case .failure(let error) = result {
        writer.key("code")
        writer.integer(Int64(error.code.rawValue))
        writer.key("message")
        writer.string(error.message)
      }
      writer.endObject()
    }
    writer.endArray()
    writer.endObject()
    return writer.bytes
  }

  func beginTransaction(_ call: Call) throws(StatusError) -> [UInt8] {
    try call.checkParameters([])
    var kind = TransactionKind.readWrite
    try call.readBody { (reader, key) throws(JSONError) in
      guard key == "options" else { return try reader.unknown(key) }
      kind = try reader.transactionKind()
    }
    let id = try call.api.begin(kind)
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("transaction")
    writer.string(Base64.encode(id))
    writer.endObject()
    return writer.bytes
  }

  func rollback(_ call: Call) throws(StatusError) -> [UInt8] {
    try call.checkParameters([])
    var transaction: [UInt8]?
    try call.readBody { (reader, key) throws(JSONError) in
      guard key == "transaction" else { return try reader.unknown(key) }
      transaction = try reader.bytes(key)
    }
    guard let transaction else {
      throw StatusError(.invalidArgument, "The body has no transaction.")
    }
    try call.api.rollBack(transaction)
    return Self.nothing
  }

  private func read(
    _ writes: inout [Mutation], _ most: Int, _ reader: inout DocumentJSONReader, _ call: Call
  ) throws(JSONError) {
    try reader.elements("writes") { (reader, event) throws(JSONError) in
      guard writes.count < most else {
        throw reader.refused("More than \(most) writes are sent. Split them.")
      }
      guard event == .beginObject else { throw reader.refused("A write is a JSON object.") }
      writes.append(try reader.write(in: call.database))
    }
  }

  private func write(_ result: WriteResult, to writer: inout JSONWriter) {
    writer.beginObject()
    if let time = result.updateTime {
      writer.key("updateTime")
      writer.string(time.rfc3339)
    }
    if !result.transforms.isEmpty {
      writer.key("transformResults")
      writer.beginArray()
      for value in result.transforms { writer.typed(value) }
      writer.endArray()
    }
    writer.endObject()
  }
}
