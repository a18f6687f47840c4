internal import ConiferDocument
internal import ConiferStorage

/// The ways in which indexes serve queries. Random programs must meet each of them, where indexes are used at all.
enum ServedQuery: String, CaseIterable {
  case any = "answers by indexes"
  case joined = "answers by joined indexes"
  case alternatives = "answers by indexes to several alternatives"
  case group = "answers by indexes of groups"
  case contains = "answers by indexes of elements"

  /// What is counted beside them: queries that were asked while an index was ready.
  private static let asked = "queries beside indexes that are ready"

  /// Counts an answer of a tree with these indexes.
  static func count(
    _ query: DocumentQuery, _ explanation: DocumentExplanation, _ indexes: [DocumentIndexStatus]
  ) {
    guard let record = CheckRecord.current else { return }
    if indexes.contains(where: { $0.state == .ready }) { record.count(asked) }
    guard case .indexes(let groups) = explanation.plan else { return }
    let used = groups.joined()
    for kind in allCases {
      let isMet =
        switch kind {
        case .any: true
        case .joined: groups.contains { $0.count > 1 }
        case .alternatives: query.target.filter.map { $0.disjunctionCount > 1 } ?? false
        case .group: used.contains { $0.scope == .group }
        case .contains: used.contains { $0.fields.contains { $0.kind == .contains } }
        }
      if isMet { record.count(kind.rawValue) }
    }
  }

  /// Requires that each way was counted, unless no index was ever ready.
  static func requireAll() throws {
    let counts = CheckRecord.current?.counts ?? [:]
    guard let asked = counts[asked] else { return }
    for kind in allCases {
      try require(counts[kind.rawValue] != nil, "no \(kind.rawValue) among \(asked) queries")
    }
  }
}

extension SeededRandom {
  /// A query that some of these indexes may serve: it asks for values that a document has.
  mutating func query(
    servedBy indexes: [DocumentIndex], over known: [Document]
  ) -> DocumentQuery? {
    guard let first = indexes.randomElement(using: &self) else { return nil }
    let places = known.filter {
      $0.fields != nil && $0.path.collection.id.utf8.elementsEqual(first.collectionID.utf8)
    }
    guard let document = places.randomElement(using: &self) else { return nil }
    // The fields of two indexes, which may be joined, or of one.
    let others = indexes.filter {
      $0.scope == first.scope && $0.collectionID.utf8.elementsEqual(first.collectionID.utf8)
    }
    let other = one(in: 2) ? others.randomElement(using: &self) : nil
    let fields = first.fields + (other?.fields ?? [])
    let source: DocumentQuery.Source =
      first.scope == .group ? .group(first.collectionID) : .collection(document.path.collection)
    var query = DocumentQuery(source, in: Self.database)
    for field in fields {
      let own = document.fields?[field.path]?.resolved(.none)
      let filter: FieldFilter
      switch field.kind {
      case .contains:
        var element: DocumentValue?
        if case .array(let elements)? = own { element = elements.randomElement(using: &self) }
        filter = FieldFilter(field.path, .arrayContains, element ?? scalar())
      case .ascending, .descending:
        let value = own ?? scalar()
        filter =
          one(in: 4)
          ? FieldFilter(field.path, .in, .array([value, scalar()]))
          : FieldFilter(field.path, .equal, value)
      }
      query = (try? query.filtered(.field(filter))) ?? query
    }
    return query
  }
}
