internal import ConiferDocument
internal import ConiferKeyValue
internal import ConiferStorage

extension BackendCheck {
  /// The limits of documents and of their indexes, whatever else a commit holds.
  static let sizes: [BackendCheck] = [
    BackendCheck(
      .documents, "a write that makes a document too large is refused before it is queued",
      .wrongError
    ) { fixture in
      let pair = try await fixture.pair()
      let tree = try await pair.makeDocuments()
      let lane = Lane(tree: tree)
      let path = try DocumentPath("c/d")
      let half = Document(path, .found(["a": Self.half]))
      let put = StorageEdit.documents(tree, [.put(half)])
      let big = try Self.merge(path, "b", Self.half)
      let delete = MutationBatch([ConiferDocument.Mutation(path, .delete)], written: .zero) { _ in
        half
      }.payload
      let other = try Self.merge(path, "c", Self.half)
      // Over a document that nobody knows yet.
      try await pair.refuseTooLarge("a write behind its document", put, .enqueue(lane, big))
      try await pair.refuseTooLarge("a write before its document", .enqueue(lane, big), put)
      try await pair.refuseTooLarge(
        "a write behind its document, and a deletion", put, .enqueue(lane, big),
        .enqueue(lane, delete))
      try await pair.refuseTooLarge("two writes", .enqueue(lane, big), .enqueue(lane, other))
      try await pair.commit(put)
      let waiting = try await pair.commit(
        .enqueue(lane, try Self.merge(path, "n", 1)), .enqueue(lane, try Self.merge(path, "k", 1))
      ).writes
      try await pair.refuseTooLarge("a document of 1.4 MB", .enqueue(lane, big))
      try await pair.refuseTooLarge(
        "a write behind an answer", .finish(lane, waiting[0], .acknowledged), .enqueue(lane, big))
      try await pair.refuseTooLarge(
        "a write before an answer", .enqueue(lane, big), .finish(lane, waiting[1], .acknowledged))
      for id in waiting {
        try await pair.refuseTooLarge("a write in place of another", .replace(lane, id, big))
      }
      try await pair.refuseTooLarge(
        "two in place of others", .replace(lane, waiting[0], big),
        .replace(lane, waiting[1], delete))
      // The server is sent each of them, so what comes later does not help.
      try await pair.refuseTooLarge(
        "a write and a deletion", .enqueue(lane, big), .enqueue(lane, delete))
      try await pair.refuseTooLarge(
        "a deletion and two writes", .enqueue(lane, delete), .enqueue(lane, big),
        .enqueue(lane, other))
      // A rejected write that is replaced waits again.
      try await pair.commit(
        .setState(lane, waiting[0], .sent), .setState(lane, waiting[0], .rejected(reason: "no")))
      try await pair.refuseTooLarge(
        "a write in place of a rejected one", .replace(lane, waiting[0], big))
      // What fits is taken, and so is what the server says, however large it makes what waits.
      try await pair.commit(.replace(lane, waiting[1], delete), .enqueue(lane, big))
      try await pair.commit(.replace(lane, waiting[1], try Self.merge(path, "k", 2)), .purge(lane))
      try await pair.commit(.documents(tree, [.forget(path)]))
      try await pair.commit(.enqueue(lane, big))
      try await pair.commit(put)
      try pair.requireSame()
      try await pair.refuseTooLarge(
        "a write over what is too large", .enqueue(lane, try Self.merge(path, "n", 1)))
      try await pair.commit(.enqueue(lane, delete))
      try pair.requireSame()
      try pair.isSound()
    },
    BackendCheck(
      .documents, "a batch that no request may have is refused before it is queued", .wrongError
    ) { fixture in
      let pair = try await fixture.pair()
      let lane = Lane(tree: try await pair.makeDocuments())
      let text = DocumentValue.string(String(repeating: "x", count: 900_000))
      func payload(_ count: Int, _ change: ConiferDocument.Mutation.Change) throws -> WritePayload {
        let writes = try (0..<count).map {
          ConiferDocument.Mutation(try DocumentPath("c/d\($0)"), change)
        }
        return MutationBatch(writes, written: .zero) { Document($0, .unseen) }.payload
      }
      let large = try payload(12, .set(["a": text], []))
      let long = try payload(DocumentLimits.writes + 1, .delete)
      let waiting = try await pair.commit(.enqueue(lane, try payload(1, .delete))).writes
      for (what, refused) in [("11 MB", large), ("a write too many", long)] {
        try await pair.refuseTooLarge(what, .enqueue(lane, refused))
        try await pair.refuseTooLarge(
          what + " behind one that fits", .enqueue(lane, try payload(1, .delete)),
          .enqueue(lane, refused))
        try await pair.refuseTooLarge(
          what + " in place of another", .replace(lane, waiting[0], refused))
      }
      // What fits is taken.
      let most = try payload(11, .set(["a": text], []))
      try await pair.commit(.enqueue(lane, most))
      try await pair.commit(.replace(lane, waiting[0], most))
      try pair.requireSame()
      try pair.isSound()
    },
    BackendCheck(.documents, "an index of 100 fields is kept, with names in either direction") {
      fixture in
      guard fixture.factory.options.encryption == nil else {
        throw NotApplicable("keeps no indexes: their keys would show values")
      }
      let pair = try await fixture.pair()
      let tree = try await pair.makeDocuments()
      let names = (0..<100).map { "f\($0)" }
      let fields = names.map { DocumentIndex.Field(FieldPath(unchecked: [$0])) }
      let indexes = [
        try DocumentIndex("c", Array(fields.prefix(1))), try DocumentIndex("c", fields),
        try DocumentIndex("c", fields + [.init(.documentID, .descending)]),
      ]
      for number in 0..<3 as Range<Int64> {
        let values = MapValue(names.map { ($0, .integer(number)) })
        let document = Document(try DocumentPath("c/d\(number)"), .found(values))
        try await pair.commit(.documents(tree, [.put(document)]))
      }
      try await pair.commit(.documents(tree, [.setIndexes(indexes)]))
      try await pair.finishIndexes()
      for when in ["after they were declared", "after reopening"] {
        let declared = try pair.backend.keepingDocuments().readDocuments {
          (view) throws(StoreError) in try view.documentIndexes(tree)
        }.map(\.index)
        try requireEqual(declared, indexes, "the indexes \(when)")
        try pair.requireSame(when)
        try pair.isSound()
        try await pair.reopen()
      }
    },
  ]

  /// Two of them are more than a document may hold.
  private static let half = DocumentValue.string(String(repeating: "x", count: 700_000))

  private static func merge(
    _ path: DocumentPath, _ name: String, _ value: DocumentValue
  ) throws -> WritePayload {
    let merge = try ConiferDocument.Mutation.merge(
      path, [(name, .value(value))], in: SeededRandom.database)
    return MutationBatch([merge], written: .zero) { Document($0, .unseen) }.payload
  }
}

extension ModelPair {
  /// Requires that both refuse a commit as too large, and that nothing of it is there.
  fileprivate func refuseTooLarge(_ what: String, _ edits: StorageEdit...) async throws {
    var copy = model
    try await expect(.tooLarge, "in the kit's model, \(what)") { () throws(StoreError) in
      try copy.commit(edits)
    }
    try await expect(.tooLarge, what) { () throws(StoreError) in
      try await self.backend.commit(edits)
    }
    try requireSame("after \(what) was refused")
  }
}
