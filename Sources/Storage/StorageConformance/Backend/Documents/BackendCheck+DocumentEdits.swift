internal import ConiferDocument
internal import ConiferKeyValue
internal import ConiferStorage

extension BackendCheck {
  /// What each edit of documents and of their queue does, one promise after the other.
  static let documentEdits: [BackendCheck] = [
    BackendCheck(
      .documents, "indexes give what a look at every document does, after every kind of edit",
      .wrongData
    ) { fixture in
      guard fixture.factory.options.encryption == nil else {
        throw NotApplicable("keeps no indexes: their keys would show values")
      }
      let pair = try await fixture.pair()
      let tree = try await pair.makeDocuments()
      let field = FieldPath(unchecked: ["a"])
      let indexes = [
        try DocumentIndex("c", [.init(field)]),
        try DocumentIndex("c", [.init(field, .contains)], scope: .group),
      ]
      try await pair.commit(.documents(tree, [.setIndexes(indexes)]))
      let edits: [DocumentEdit] = [
        .put(try Self.document("c/d1", 1)), .put(try Self.document("c/d2", [1, 2])),
        .put(try Self.document("c/d1/c/d3", [1])), .put(try Self.document("c/d2", [2])),
        .put(try Self.document("c/d1", 3)), .put(Document(try DocumentPath("c/d2"), .missing)),
        .put(Document(try DocumentPath("c/d1"), .unknown)),
        .put(try Self.document("c/d1", [1])), .forget(try DocumentPath("c/d1/c/d3")),
        .forget(try DocumentPath("c/d1")),
      ]
      for (number, edit) in edits.enumerated() {
        try await pair.commit(.documents(tree, [edit]))
        if number == 2 { while try await pair.backend.tidy(.milliseconds(50)) {} }
        try pair.requireSame("after edit \(number)")
        try pair.isSound()
      }
    },
    BackendCheck(
      .documents, "each identity sees its own waiting writes and no others", .phantom
    ) { fixture in
      let pair = try await fixture.pair()
      let tree = try await pair.makeDocuments()
      try await pair.commit(.documents(tree, [.put(try Self.document("c/d1", 1))]))
      for (number, identity) in ["", "ann", "anna"].enumerated() {
        let lane = Lane(tree: tree, identity: identity)
        try await pair.commit(.enqueue(lane, try Self.merge("c/d1", Int64(number))))
        try pair.requireSame("after a write of \"\(identity)\"")
        try await pair.commit(.enqueue(lane, try Self.merge("c/\(identity)1", 1)))
        try pair.requireSame("after another write of \"\(identity)\"")
      }
      try await pair.commit(.purge(Lane(tree: tree, identity: "ann")))
      try pair.requireSame("after a purge")
      try pair.isSound()
    },
    BackendCheck(
      .documents, "a document that the server said is missing stays missing", .resurrected
    ) { fixture in
      let pair = try await fixture.pair()
      let tree = try await pair.makeDocuments()
      for path in ["c/d1", "c/d2", "c/d3"] {
        try await pair.commit(.documents(tree, [.put(try Self.document(path, 1))]))
      }
      let time = try Timestamp(seconds: 5)
      let gone = Document(try DocumentPath("c/d2"), .missing, version: time, readTime: time)
      try await pair.commit(.documents(tree, [.put(gone)]))
      try pair.requireSame("after the server's word")
      while try await pair.backend.tidy(.milliseconds(50)) {}
      try pair.requireSame("after housekeeping")
      try await pair.commit(.enqueue(Lane(tree: tree), try Self.merge("c/d2", 2)))
      try pair.requireSame("with a write over it")
      try await pair.commit(.finish(Lane(tree: tree), WriteID(rawValue: 1), .discarded))
      try await pair.reopen()
      try pair.requireSame("after reopening")
      try pair.isSound()
    },
    BackendCheck(
      .documents, "a write shows in the commit that queues it, until that in which it ends",
      .halfBatch
    ) { fixture in
      let pair = try await fixture.pair()
      let tree = try await pair.makeDocuments()
      let lane = Lane(tree: tree, identity: "anna")
      let path = try DocumentPath("c/d1")
      try await pair.commit(.documents(tree, [.put(try Self.document("c/d1", 1))]))
      for value in 2...4 as ClosedRange<Int64> {
        try await pair.commit(.enqueue(lane, try Self.merge("c/d1", value)))
        try pair.requireSame("after a write was queued")
      }
      let create = ConiferDocument.Mutation(path, .set(["a": 9], []), if: .exists(false))
      let batch = MutationBatch([create], written: .zero) { Document($0, .unseen) }
      let steps: [[StorageEdit]] = [
        [.setState(lane, WriteID(rawValue: 2), .sent)],
        [.setState(lane, WriteID(rawValue: 2), .rejected(reason: "no"))],
        [.replace(lane, WriteID(rawValue: 3), try Self.merge("c/d2", 7))],
        [.setState(lane, WriteID(rawValue: 2), .queued)],
        [
          .finish(lane, WriteID(rawValue: 1), .acknowledged),
          .documents(tree, [.put(try Self.document("c/d1", 2))]),
        ],
        [.enqueue(lane, batch.payload)], [.finish(lane, WriteID(rawValue: 2), .discarded)],
        [.documents(tree, [.forget(path)])], [.documents(tree, [.put(Document(path, .missing))])],
        [.purge(lane)],
      ]
      for (number, edits) in steps.enumerated() {
        try await pair.commit(edits)
        try pair.requireSame("after step \(number)")
        try pair.isSound()
      }
    },
    BackendCheck(
      .documents, "a query matches what the server said last, and nothing once it is forgotten",
      .phantom
    ) { fixture in
      let pair = try await fixture.pair()
      let tree = try await pair.makeDocuments()
      let paths = try ["c/d1", "c/d2", "c/__id7__"].map { try DocumentPath($0) }
      let target = DocumentQuery(.collection(try CollectionPath("c")), in: SeededRandom.database)
        .target
      let query = TrackedQuery(Lane(tree: tree, identity: "anna"), target, resumeToken: [1, 2])
      let id = try await pair.commit(.saveQuery(query)).queries[0]
      let edits: [DocumentEdit] = [
        .setMatches(id, paths), .updateMatches(id, added: [], removed: [paths[1]]),
        .updateMatches(id, added: [paths[1]], removed: [paths[0], paths[2]]),
        .setMatches(id, [paths[2]]), .setMatches(id, []), .setMatches(id, paths),
      ]
      for (number, edit) in edits.enumerated() {
        try await pair.commit(.documents(tree, [edit]))
        try pair.requireSame("after edit \(number)")
      }
      let group = DocumentQuery(.group("c|\\"), in: SeededRandom.database).target
      let ofGroup = try await pair.commit(
        .saveQuery(TrackedQuery(Lane(tree: tree, identity: "anna"), group))
      ).queries[0]
      let below = try ["c|\\/d", "a/d/c|\\/d"].map { try DocumentPath($0) }
      try await pair.commit(.documents(tree, [.setMatches(ofGroup, below)]))
      try pair.requireSame("with a group's matches")
      // Of another collection, of one below, and of another group.
      let others = try ["b/d", "c/d1/c/d", "c/d1"].map { try DocumentPath($0) }
      for (query, other) in zip([id, id, ofGroup], others) {
        let refused: [DocumentEdit] = [
          .setMatches(query, [other]), .updateMatches(query, added: [other], removed: []),
        ]
        for edit in refused {
          try await expect(.invalid, "\(other) as a match of query \(query)") {
            () throws(StoreError) in
            try await pair.backend.commit([.documents(tree, [edit])])
          }
        }
      }
      try pair.requireSame("after refused matches")
      try await pair.commit(.removeQuery(tree, id))
      let again = try await pair.commit(.saveQuery(query)).queries[0]
      let found = try pair.backend.keepingDocuments().readDocuments { (view) throws(StoreError) in
        try view.matches(tree, id) + view.matches(tree, again)
      }
      try requireEqual(found, [], "what a query matches that was forgotten and saved again")
      try pair.requireSame("at the end")
      try pair.isSound()
    },
    BackendCheck(
      .documents, "a query of another user, or another query, is refused under a tracked number",
      .wrongError
    ) { fixture in
      let pair = try await fixture.pair()
      let tree = try await pair.makeDocuments()
      let anna = Lane(tree: tree, identity: "anna")
      let documents = try (1...3).map { try Self.document("c/d\($0)", .integer($0)) }
      try await pair.commit(.documents(tree, documents.map { .put($0) }))
      let all = DocumentQuery(.collection(try CollectionPath("c")), in: SeededRandom.database)
      let query = try all.filtered(.field(FieldPath(unchecked: ["a"]), .greaterThan, 0))
      let tracked = TrackedQuery(anna, query.target, isComplete: true, resumeToken: [1, 2])
      let id = try await pair.commit(.saveQuery(tracked)).queries[0]
      let version = MatchesVersion(query.source, at: try Timestamp(seconds: 1))
      try await pair.commit(
        .documents(tree, [.setMatches(id, documents.map(\.path)), .setMatchesVersion(id, version)])
      )
      func ask(_ lane: Lane, _ query: DocumentQuery, _ id: QueryID) throws(StoreError) -> [Document]
      {
        try pair.backend.keepingDocuments().readDocuments { (view) throws(StoreError) in
          try view.query(lane, query, tracked: id).documents
        }
      }
      try requireEqual(try ask(anna, query, id), documents, "what the tracked query gives")
      let unknown = QueryID(rawValue: id.rawValue + 9)
      try requireEqual(try ask(anna, query, unknown), documents, "with a number that is none")
      let other = try query.limited(to: 2)
      let refused = [
        (Lane(tree: tree, identity: "ann"), query), (Lane(tree: tree), query), (anna, other),
        (anna, all),
      ]
      for (lane, query) in refused {
        try await expect(.invalid, "\(query.canonical) of \"\(lane.identity)\"") {
          () throws(StoreError) in try ask(lane, query, id)
        }
      }
      try pair.requireSame("after queries were refused")
      try requireEqual(try ask(anna, query, id), documents, "what the tracked query gives later")
      let shared = TrackedQuery(Lane(tree: tree), query.target)
      let sharedID = try await pair.commit(.saveQuery(shared)).queries[0]
      for lane in [anna, Lane(tree: tree)] {
        try requireEqual(try ask(lane, query, sharedID), documents, "what nobody's query gives")
      }
      try pair.isSound()
    },
  ]

  /// What eviction must leave of documents.
  static let documentEvictions: [BackendCheck] = [
    BackendCheck(
      .documents, "an eviction leaves every document that a waiting write needs", .evictedPin
    ) { fixture in
      let pair = try await fixture.pair()
      let tree = try await pair.makeDocuments()
      let lanes = [Lane(tree: tree), Lane(tree: tree, identity: "anna")]
      let documents = try (0..<60).map { try Self.document("c/d\($0)", 1) }
      try await pair.commit(.documents(tree, documents.map { .put($0) }))
      try await pair.commit(
        .enqueue(lanes[0], try Self.merge("c/d3", 2)),
        .enqueue(lanes[1], try Self.merge("c/d7", 2)))
      try await pair.commit(.enqueue(lanes[1], try Self.merge("c/d9", 2)))
      try await pair.commit(.finish(lanes[1], WriteID(rawValue: 2), .acknowledged))
      try await pair.evict(to: 0)
      try pair.isSound()
      try await pair.commit(.purge(lanes[0]))
      try await pair.evict(to: 0)
      try pair.isSound()
    },
    BackendCheck(
      .documents, "a stream of documents holds what it must while it is evicted and indexed",
      .falseComplete
    ) { fixture in
      guard let stream = DocumentStream(fixture.factory) else {
        throw NotApplicable("evicts no documents")
      }
      var backend = try fixture.open { $0.evictionSlice = .zero }
      var held = stream.nothing
      for count in [1, 3, 9, 20] {
        let last = held.reduce(count, +)
        try await stream.run(on: backend, after: held, count, isDurable: false)
        if fixture.factory.declared.isPersistent {
          try await backend.close()
          backend = try fixture.open { $0.evictionSlice = .zero }
        }
        held = try stream.held(by: backend, CrashBounds(acknowledged: last, issued: [last]))
      }
    },
  ]

  private static func document(_ path: String, _ value: DocumentValue) throws -> Document {
    Document(try DocumentPath(path), .found(["a": value, "b": "text"]))
  }

  private static func merge(_ path: String, _ value: Int64) throws -> WritePayload {
    let write = try ConiferDocument.Mutation.merge(
      DocumentPath(path), [("a", .value(.integer(value)))], in: SeededRandom.database)
    return MutationBatch([write], written: .zero) { Document($0, .unseen) }.payload
  }
}
