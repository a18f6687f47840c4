#if Network && GRPC
  import ConiferDocument
  import ConiferWire

  /// The documents that a demo begins with: of a JSON object, each member is a collection, and each member of that a
  /// document. What is no object becomes a document's field `value`.
  struct DemoDocuments {
    /// The documents' fields, by their paths.
    let fields: [String: MapValue]
    /// The collections, in order.
    let collections: [String]

    /// Reads JSON.
    ///
    /// - Throws: `JSONError`, and `Failure` when it is no object of objects.
    init(_ json: [UInt8]) throws {
      var reader = DocumentJSONReader(json)
      let value = try reader.plain(try reader.next())
      try reader.end()
      var fields: [String: MapValue] = [:]
      var collections: [String] = []
      for collection in value.map?.fields ?? [] {
        guard let documents = collection.value.map else { continue }
        collections.append(collection.name)
        for document in documents.fields {
          fields["\(collection.name)/\(document.name)"] =
            document.value.map ?? ["value": document.value]
        }
      }
      guard !fields.isEmpty else {
        throw Failure(
          "not-an-object", .badData,
          "The data is no object of collections of documents, such as {\"dinosaurs\": {\"stegosaurus\": {\"height\": 4}}}."
        )
      }
      self.fields = fields
      self.collections = collections
    }

    /// The documents of a collection, by path, in the form in which they are compared.
    func documents(in collection: String) -> [String: DocumentDemoState.Fields] {
      fields.filter { $0.key.hasPrefix("\(collection)/") }.mapValues(DocumentDemoState.fields)
    }
  }
#endif
