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
      for seed in try seeds(6, fixture.factory) {
        let program = DocumentProgram(seed: seed &+ 5000, length: 80)
        do {
          try await program.run(fixture.factory)
        } catch {
          let (shortest, reason) = await program.shrunk(fixture.factory)
          throw ConformanceFailure(
            ConformanceFailure.anomaly(of: error),
            "\(error)\nCONIFER_SEED=\(seed) reproduces it; the shortest program that fails, with "
              + "\(reason):\n\(shortest.steps)", seed: seed)
        }
        CheckRecord.current?.count("random programs")
      }
    },
    BackendCheck(.documents, "documents, queues and matches are copied as they are") { fixture in
      let pair = try await DocumentPair(fixture)
      for step in DocumentProgram(seed: 77, length: 60).steps where step.kind != .reopen {
        try await pair.run(step)
      }
      let copy = try StorageConfiguration.memory.open()
      try await StoreCopier(source: pair.backend, target: copy, reached: { _ in })
        .run(from: CopyPlace())
      let other = try BackendFixture(fixture.factory)
      let target = try await DocumentPair(other, copying: pair, in: copy)
      try target.requireSame()
      try target.requireSound()
      await other.finish()
      try await copy.close()
    },
    BackendCheck(.documents, "nodes and documents do not mix", .wrongError) { fixture in
      let pair = try await DocumentPair(fixture)
      let nodes = try await pair.backend.tree(named: "nodes")
      let path = try DocumentPath("c/d")
      let document = Document(path, .found(["a": 1]))
      let (tree, lane) = (pair.tree, pair.lane(""))
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
      try await pair.backend.commit([.documents(tree, [.put(document)])])
      pair.model.bases[path] = document
      try await expect(.invalid, "a node of documents") { () throws(StoreError) in
        try pair.backend.node(tree, "c/d")
      }
      try await expect(.invalid, "documents of nodes") { () throws(StoreError) in
        try pair.backend.readDocuments { (view) throws(StoreError) in try view.document(nodes, path)
        }
      }
      _ = lane
      try pair.requireSame()
      try pair.requireSound()
    },
    BackendCheck(
      .documents, "a write that makes a document too large is refused before it is queued",
      .wrongError
    ) { fixture in
      let pair = try await DocumentPair(fixture)
      let path = try DocumentPath("c/d")
      let half = DocumentValue.string(String(repeating: "x", count: 700_000))
      let document = Document(path, .found(["a": half]))
      try await pair.backend.commit([.documents(pair.tree, [.put(document)])])
      pair.model.bases[path] = document
      let merge = try ConiferDocument.Mutation.merge(
        path, [("b", .value(half))], in: SeededRandom.database)
      let batch = MutationBatch([merge], written: .zero) { _ in document }
      try await expect(.tooLarge, "a document of 1.4 MB") { () throws(StoreError) in
        try await pair.backend.commit([.enqueue(pair.lane(""), batch.payload)])
      }
      try pair.requireSame()
      try pair.requireSound()
    },
  ]
}
