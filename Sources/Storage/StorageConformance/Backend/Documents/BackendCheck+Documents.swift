internal import ConiferDocument
internal import ConiferKeyValue
internal import ConiferStorage
internal import ConiferTree

extension BackendCheck {
  /// Documents, waiting writes over them, and queries.
  static let documents: [BackendCheck] = [
    BackendCheck(
      .documents, "random programs of documents show what the model does", .wrongData
    ) { fixture in
      let seeds = try seeds(6, fixture.factory)
      for seed in seeds {
        var documents = fixture.factory.documents ?? TreeProgram.Documents()
        if seed % 2 == 1 { documents.evicting = false }
        try await run(
          TreeProgram(seed: seed &+ 5000, length: 80, documents), of: seed, fixture.factory)
        CheckRecord.current?.count("random programs")
      }
      // A few seeds may lack one of the kinds.
      if seeds.count >= 6 { try ServedQuery.requireAll() }
    },
    BackendCheck(.documents, "documents, queues and matches are copied as they are") { fixture in
      let pair = try await fixture.pair()
      try await pair.makeDocuments()
      let indexing = fixture.factory.options.encryption == nil
      var program = TreeProgram(seed: 77, length: 60, TreeProgram.Documents(indexing: indexing))
      program.steps.removeAll { if case .reopen = $0 { true } else { false } }
      try await program.run(on: pair, interval: 20)
      let copy = try StorageConfiguration.memory.open()
      try await StoreCopier(source: pair.backend, target: copy, reached: { _ in })
        .run(from: CopyPosition())
      let difference = try pair.backend.readAll { (original) throws(StoreError) in
        try copy.readAll { (view) throws(StoreError) in try StateDifference(view, original).first()
        }
      }
      let report = try (copy as? any VerifyingBackend)?.verify()
      try await copy.close()
      try require(difference == nil, "the copy is another store: \(difference ?? "")")
      try require(report?.isSound != false, "the copy is not sound: \(report?.findings ?? [])")
    },
    BackendCheck(.documents, "nodes and documents do not mix", .wrongError) { fixture in
      let pair = try await fixture.pair()
      let (tree, nodes) = (try await pair.makeDocuments(), pair.tree)
      let path = try DocumentPath("c/d")
      let document = Document(path, .found(["a": 1]))
      let batch = MutationBatch([ConiferDocument.Mutation(path, .delete)], written: .zero) {
        Document($0, .unseen)
      }
      let refused: [[StorageEdit]] = [
        [.overwrite(tree, "c/d", 1)], [.merge(tree, "c", [.init("d", 1)])],
        [.documents(nodes, [.put(document)])], [.documents(nodes, [.forget(path)])],
        [.enqueue(Lane(tree: nodes), batch.payload)],
        [.documents(tree, [.put(Document(path, .unseen))])],
        [.documents(tree, [.put(Document(path, .found([:]), writes: .pending))])],
        [.documents(tree, [.setMatches(QueryID(rawValue: 9), [path])])],
      ]
      for edits in refused {
        try await expect(.invalid, "\(edits)") { () throws(StoreError) in
          try await pair.backend.commit(edits)
        }
      }
      try await pair.commit(.documents(tree, [.put(document)]))
      try await expect(.invalid, "a node of documents") { () throws(StoreError) in
        try pair.backend.node(tree, "c/d")
      }
      try await expect(.invalid, "documents of nodes") { () throws(StoreError) in
        try pair.backend.keepingDocuments().readDocuments { (view) throws(StoreError) in
          try view.document(nodes, path)
        }
      }
      try pair.requireSame()
      try pair.isSound()
    },
  ]
}
