internal import ConiferDocument
internal import ConiferKeyValue
internal import ConiferStorage

extension BackendCheck {
  /// Queries of documents that compare several fields by more than equality.
  static let inequalities: [BackendCheck] = [
    BackendCheck(
      .documents, "several inequalities by indexes give what a look at every document does",
      .wrongData
    ) { fixture in
      let pair = try await fixture.pair()
      let tree = try await pair.makeDocuments()
      var random = SeededRandom(seed: 61)
      var known: [DocumentPath: Document] = [:]
      for _ in 0..<200 {
        let document = random.document()
        known[document.path] = document
      }
      let all = known.values.sorted { $0.path < $1.path }
      let anna = Lane(tree: tree, identity: "anna")
      try await pair.commit(.documents(tree, all.map { .put($0) }))
      var (composite, isIndexed) = (0, false)
      for round in 0..<12 {
        let fields = random.fields()
        if fixture.factory.options.encryption == nil {
          let indexes = random.indexes() + [random.composite(fields)].compactMap { $0 }
          isIndexed = try await pair.declare(indexes) || isIndexed
        }
        // Waiting writes move documents into what queries give and out of it.
        let batch = random.batch { path in
          pair.model.documents.map { $0.documents.shown(path, $0.waiting("anna")) }
            ?? Document(path, .unseen)
        }
        try await pair.commit(.enqueue(anna, batch.payload))
        for number in 0..<12 {
          let query = random.inequalities(fields)
          let lane = number % 3 == 0 ? anna : Lane(tree: tree, identity: "nobody")
          let answer = try pair.answer(query, lane)
          let wanted = try ModelView(pair.model).query(lane, query).documents
          try require(
            answer.documents == wanted,
            "in round \(round) \(query.canonical) by \(answer.explanation.plan) gives "
              + "\(answer.documents.map(\.path)), not \(wanted.map(\.path))")
          if case .indexes(let groups) = answer.explanation.plan,
            groups.joined().contains(where: { $0.fields.count > 1 })
          {
            composite += 1
          }
        }
      }
      try require(composite > 0 || !isIndexed, "no index with several fields served a query")
      CheckRecord.current?.count("several inequalities by a composite index", composite)
      try pair.isSound()
    },
    BackendCheck(
      .documents, "40 of 1,000 by two inequalities decode 40 documents, where an index serves them"
    ) { fixture in
      guard fixture.factory.options.encryption == nil else {
        throw NotApplicable("keeps no indexes: their keys would show values")
      }
      let pair = try await fixture.pair()
      let tree = try await pair.makeDocuments()
      let all = try (0..<1000).map { (number: Int64) in
        Document(
          try DocumentPath("rooms/r\(1000 + number)"),
          .found(["a": .integer(number / 100), "b": .integer(number % 100)]))
      }
      try await pair.commit(.documents(tree, all.map { .put($0) }))
      let (a, b) = (try FieldPath(["a"]), try FieldPath(["b"]))
      let both = try DocumentQuery(.collection(CollectionPath("rooms")), in: SeededRandom.database)
        .filtered(.field(a, .greaterThan, 1)).filtered(.field(b, .lessThan, 5))
      for fields in [
        [DocumentIndex.Field(a), DocumentIndex.Field(b)],
        [DocumentIndex.Field(a, .descending), DocumentIndex.Field(b, .descending)],
        [DocumentIndex.Field(a), DocumentIndex.Field(b, .descending)],
        [DocumentIndex.Field(b), DocumentIndex.Field(a)],
      ] {
        let index = try DocumentIndex("rooms", fields)
        guard try await pair.declare([index]) else {
          throw NotApplicable("builds no indexes of documents")
        }
        for (query, count) in [
          (both, 40), (try both.limited(to: 7), 7),
          (try both.ordered(by: a).ordered(by: b).limited(toLast: 7), 7),
        ] {
          let answer = try pair.answer(query, Lane(tree: tree))
          try require(
            answer.documents == query.evaluate(all), .wrongData,
            "\(query.canonical) by \(answer.explanation.plan) gives other documents")
          let cost = answer.explanation
          try requireEqual(cost.plan, .indexes([[index]]), "the plan of \(query.canonical)")
          try require(
            cost.documentsRead <= (cost.isSorted ? 40 : count) && cost.indexEntries <= 150,
            "\(count) of 1,000 by \(index) cost much: \(cost)")
        }
      }
    },
  ]
}

extension ModelPair {
  /// Declares these indexes and no others, and waits until they are built.
  ///
  /// - Returns: whether they serve queries; a backend may build none at all.
  fileprivate func declare(_ indexes: [DocumentIndex]) async throws -> Bool {
    guard let documents else { throw ConformanceFailure("there is no tree of documents") }
    try await commit(.documents(documents, [.setIndexes(indexes)]))
    try await finishIndexes()
    let states = try backend.keepingDocuments().readDocuments { (view) throws(StoreError) in
      try view.documentIndexes(documents)
    }.map(\.state)
    let built = states.count { $0 == .ready }
    try require(built == 0 || built == states.count, "\(built) of \(states.count) were built")
    return built > 0
  }

  /// What the backend answers to a user.
  fileprivate func answer(_ query: DocumentQuery, _ lane: Lane) throws -> DocumentAnswer {
    try backend.keepingDocuments().readDocuments { (view) throws(StoreError) in
      try view.query(lane, query)
    }
  }
}

extension SeededRandom {
  /// Two or three fields.
  fileprivate mutating func fields() -> [FieldPath] {
    let names = ["a", "b", "c"].shuffled(using: &self)
    return names.prefix(Int.random(in: 2...3, using: &self)).map { FieldPath(unchecked: [$0]) }
  }

  /// An index of some fields in some directions.
  fileprivate mutating func composite(_ fields: [FieldPath]) -> DocumentIndex? {
    let isDescending = one(in: 2)
    let named = fields.map {
      DocumentIndex.Field($0, isDescending != one(in: 4) ? .descending : .ascending)
    }
    return try? DocumentIndex("c", named, scope: pick([.collection, .collection, .group]))
  }

  /// A query that compares each of some fields by more than equality.
  fileprivate mutating func inequalities(_ fields: [FieldPath]) -> DocumentQuery {
    let collection = (try? CollectionPath("c")).map { DocumentQuery.Source.collection($0) }
    var query = DocumentQuery(
      one(in: 4) ? .group("c") : collection ?? .group("c"), in: Self.database)
    for field in fields {
      let test = pick([
        FieldFilter.Operator.lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual,
        .notEqual,
      ])
      query = (try? query.filtered(.field(FieldFilter(field, test, scalar())))) ?? query
    }
    for field in fields where one(in: 3) {
      query = (try? query.ordered(by: field, pick([.ascending, .descending]))) ?? query
    }
    if one(in: 2) {
      let count = Int.random(in: 1...4, using: &self)
      let limited = one(in: 2) ? try? query.limited(to: count) : try? query.limited(toLast: count)
      query = limited ?? query
    }
    return (try? query.validate()) == nil ? DocumentQuery(query.source, in: Self.database) : query
  }
}
