import ConiferDocument
import ConiferDocumentServer
import ConiferTree
import ConiferWire

// One document or one collection, by method.
extension DocumentRESTResponder {
  func get(_ call: Call, _ path: DocumentPath) async throws(StatusError) -> [UInt8] {
    try call.checkParameters(["mask.fieldPaths", "transaction", "readTime"])
    let mask = try call.mask("mask.fieldPaths")
    let found = try await call.api.documents([path], call.moment())
    guard let document = found.value.first, document.fields != nil else {
      throw StatusError(.notFound, "Document \"\(call.path.name)\" not found.")
    }
    return json(document.showing(mask), call)
  }

  /// A page's token as base 64 that may stand in a URL as it is.
  static func pageToken(_ bytes: [UInt8]) -> String {
    String(
      Base64.encode(bytes).map { character -> Character in
        switch character {
        case "+": "-"
        case "/": "_"
        default: character
        }
      })
  }

  func list(_ call: Call, _ collection: CollectionPath) async throws(StatusError) -> [UInt8] {
    try call.checkParameters([
      "pageSize", "pageToken", "orderBy", "mask.fieldPaths", "showMissing", "transaction",
      "readTime",
    ])
    let mask = try call.mask("mask.fieldPaths")
    let size = try call.number("pageSize").flatMap { $0 == 0 ? nil : $0 } ?? limits.page
    let found = try await call.api.page(
      of: collection, by: DocumentQuery.Order.read(call.request.parameter("orderBy")),
      showsMissing: call.request.parameter("showMissing") == "true", size: min(size, limits.page),
      from: Call.pageToken(call.request.parameter("pageToken")), call.moment())
    var writer = JSONWriter()
    writer.beginObject()
    if !found.value.documents.isEmpty {
      writer.key("documents")
      writer.beginArray()
      var claimed = 0
      for document in found.value.documents {
        writer.document(document.showing(mask), in: call.database)
        guard found.share.claim(writer.bytes.count - claimed) else { throw ReadShare.exceeded }
        claimed = writer.bytes.count
      }
      writer.endArray()
    }
    if let next = found.value.next {
      writer.key("nextPageToken")
      writer.string(Self.pageToken(next))
    }
    writer.endObject()
    return writer.bytes
  }

  func create(_ call: Call, in collection: CollectionPath) async throws(StatusError) -> [UInt8] {
    try call.checkParameters(["documentId", "mask.fieldPaths"])
    let mask = try call.mask("mask.fieldPaths")
    let id = call.request.parameter("documentId") ?? ""
    guard let path = DocumentPath(in: collection, id: id.isEmpty ? DocumentPath.newID() : id) else {
      throw StatusError(.invalidArgument, "documentId is an id without a slash.")
    }
    let document = try call.readDocument()
    guard document.name == nil else {
      throw StatusError(
        .invalidArgument, "A document that is made has no name. Give its id as documentId.")
    }
    return try await write(
      Mutation(path, .set(document.fields, []), if: .exists(false)), call, showing: mask)
  }

  func update(_ call: Call, _ path: DocumentPath) async throws(StatusError) -> [UInt8] {
    try call.checkParameters([
      "updateMask.fieldPaths", "mask.fieldPaths", "currentDocument.exists",
      "currentDocument.updateTime",
    ])
    let mask = try call.mask("mask.fieldPaths")
    let document = try call.readDocument()
    let name = DocumentName(path, in: call.database)
    guard document.name ?? name == name else {
      throw StatusError(
        .invalidArgument, "The document's name is not the one of the path. Leave it out.")
    }
    let change: Mutation.Change =
      try call.mask("updateMask.fieldPaths").map { .patch(document.fields, $0, []) }
      ?? .set(document.fields, [])
    return try await write(
      Mutation(path, change, if: call.precondition()), call, showing: mask)
  }

  func delete(_ call: Call, _ path: DocumentPath) async throws(StatusError) -> [UInt8] {
    try call.checkParameters(["currentDocument.exists", "currentDocument.updateTime"])
    _ = try await call.api.commit([Mutation(path, .delete, if: call.precondition())])
    return Self.nothing
  }

  /// Makes one write, and answers with the document as the write left it.
  private func write(
    _ write: Mutation, _ call: Call, showing mask: FieldMask?
  ) async throws(StatusError) -> [UInt8] {
    json(try await call.api.write(write).showing(mask), call)
  }

  private func json(_ document: Document, _ call: Call) -> [UInt8] {
    var writer = JSONWriter()
    writer.document(document, in: call.database)
    return writer.bytes
  }
}
