#if Network && GRPC
  import ConiferDocument
  import ConiferKeyValue
  import ConiferStorage

  /// The comparison of what a client and its server have stored.
  struct DocumentDemoProof {
    private let stores: DemoStores

    init(_ stores: DemoStores) { self.stores = stores }

    /// Compares fields and versions of all documents in both directions.
    ///
    /// - Returns: how many documents the server has.
    /// - Throws: `Failure` with the status `disproved` for the first document that differs.
    func run() async throws -> Int {
      let server = try await documents(stores.server)
      let client = try await documents(stores.client)
      for (path, document) in server {
        guard let own = client[path], own.fields == document.fields,
          own.version == document.version
        else { throw Self.disproved("The client's \(path) is not the server's.") }
      }
      for path in client.keys where server[path] == nil {
        throw Self.disproved("The client has \(path), and the server has not.")
      }
      return server.count
    }

    private static func disproved(_ words: String) -> Failure {
      Failure("disproved", .disproved, words)
    }

    /// The documents of a store that exist; of a client without what waiting writes do to them.
    private func documents(_ url: String) async throws -> [DocumentPath: Document] {
      try await StoreOptions.opened(DemoStores.storage(url)) { backend in
        try backend.inspectDocuments { view in
          let name = DocumentDemoClient.database.description
          guard let tree = try view.trees().first(where: { $0.name == name })?.id else {
            throw Self.disproved("\(url) has no documents.")
          }
          var documents: [DocumentPath: Document] = [:]
          var collection: CollectionPath?
          while let next = try view.collections(tree, after: collection, limit: 1).first {
            collection = next
            var last: DocumentPath?
            while true {
              let window = try view.documents(tree, in: next, after: last, limit: 500)
              for document in window where document.fields != nil {
                documents[document.path] = document
              }
              guard let end = window.last?.path else { break }
              last = end
            }
          }
          return documents
        }
      }
    }
  }
#endif
