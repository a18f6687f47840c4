import ConiferDocument
import ConiferKeyValue

/// Chooses the plan by which the documents of a target are found, from the target and the indexes
/// alone.
///
/// For each alternative of the conditions it takes the index that has the most equalities, then the
/// one that has the target's order, then the one that has a range, then the one whose rows judge the
/// most other fields, then the shortest. Several
/// indexes that together serve more equalities than a single one are joined by the documents'
/// names.
struct DocumentPlanner {
  /// A target with more alternatives is read whole; the service allows 30.
  static let mostAlternatives = 100

  private let target: DocumentTarget
  private let indexes: [DocumentIndexRows]
  private let alternatives: [Alternative]
  /// Fields that have one value in all documents of the target.
  private let constants: [FieldPath: DocumentValue]

  /// - Parameter indexes: those of the tree that are ready, with what their rows begin with.
  static func plan(_ target: DocumentTarget, _ indexes: [DocumentIndexRows]) -> DocumentPlan {
    if case .document(let path) = target.source {
      return DocumentPlan(access: .parts([.key(path)]), isOrdered: true, hint: nil)
    }
    var alternatives = [Alternative([])]
    if let filter = target.filter {
      guard filter.disjunctionCount <= mostAlternatives else {
        return DocumentPlanner(target, indexes, alternatives).whole(hint: nil)
      }
      alternatives = filter.disjunctions.map(Alternative.init).filter { !$0.isImpossible }
    }
    return DocumentPlanner(target, indexes, alternatives).plan()
  }

  private init(
    _ target: DocumentTarget, _ indexes: [DocumentIndexRows], _ alternatives: [Alternative]
  ) {
    self.target = target
    self.indexes = indexes
    self.alternatives = alternatives
    var constants: [FieldPath: DocumentValue] = [:]
    for (equality, value) in alternatives.first?.equalities ?? [:] where !equality.isElement {
      let encoded = FieldFilter.encoded(value)
      let isShared = alternatives.allSatisfy {
        $0.value(equality.field).map(FieldFilter.encoded) == encoded
      }
      if isShared { constants[equality.field] = value }
    }
    self.constants = constants
  }

  private func plan() -> DocumentPlan {
    var parts: [DocumentPlan.Part] = []
    var isOrdered = true
    for alternative in alternatives {
      if let key = alternative.keys.first {
        if contains(key), !parts.contains(.key(key)) { parts.append(.key(key)) }
        continue
      }
      guard let choice = choice(alternative, indexes) else {
        return whole(hint: hint(alternative))
      }
      isOrdered = isOrdered && choice.isOrdered
      if let part = choice.part { Self.add(part, to: &parts) }
    }
    return DocumentPlan(access: .parts(parts), isOrdered: isOrdered, hint: nil)
  }

  /// Adds a part. Alternatives that read the same rows read them once.
  private static func add(_ part: DocumentPlan.Part, to parts: inout [DocumentPlan.Part]) {
    guard case .rows(let scan) = part else {
      if !parts.contains(part) { parts.append(part) }
      return
    }
    for place in parts.indices {
      guard case .rows(var other) = parts[place], other.readsSameRows(scan) else { continue }
      other.tests = other.tests.isEmpty || scan.tests.isEmpty ? [] : other.tests + scan.tests
      parts[place] = .rows(other)
      return
    }
    parts.append(part)
  }

  private func contains(_ path: DocumentPath) -> Bool {
    switch target.source {
    case .collection(let collection): collection.contains(path)
    case .group(let id): path.collection.id.utf8.elementsEqual(id.utf8)
    case .document(let document): path == document
    }
  }

  // MARK: Everything

  private func whole(hint: DocumentIndex?) -> DocumentPlan {
    // Documents are stored by collection, then by id. In a group, this is not the order of paths.
    guard case .collection = target.source else {
      return DocumentPlan(
        access: .whole(from: nil, through: nil, isReversed: false), isOrdered: false, hint: hint)
    }
    let first = target.orders.first { constants[$0.field] == nil }
    let isOrdered = first?.field.isDocumentID ?? false
    let isReversed = isOrdered && first?.direction == .descending
    var (low, high) = alternatives.count == 1 ? alternatives[0].names : (nil, nil)
    if target.orders.first?.field.isDocumentID == true {
      let (start, end) = (path(target.start), path(target.end))
      let (least, greatest) = isReversed ? (end, start) : (start, end)
      low = [low, least].compactMap { $0 }.max()
      high = [high, greatest].compactMap { $0 }.min()
    }
    return DocumentPlan(
      access: .whole(
        from: low.flatMap { contains($0) ? $0 : nil },
        through: high.flatMap { contains($0) ? $0 : nil }, isReversed: isReversed),
      isOrdered: isOrdered, hint: hint)
  }

  private func path(_ cursor: DocumentQuery.Cursor?) -> DocumentPath? {
    guard case .reference(let name)? = cursor?.values.first else { return nil }
    return name.path
  }

  // MARK: Choosing

  private struct Choice {
    /// Nil when no document can match.
    let part: DocumentPlan.Part?
    let isOrdered: Bool
    /// The criteria, the most significant first; the greater choice wins.
    let score: [Int]
  }

  /// The best way to find the documents of an alternative by indexes; nil when none helps.
  private func choice(_ alternative: Alternative, _ indexes: [DocumentIndexRows]) -> Choice? {
    var best: Choice?
    var points: [(place: Int, candidate: IndexCandidate)] = []
    for (place, rows) in indexes.enumerated() {
      guard let candidate = IndexCandidate(rows, target, alternative, constants),
        isUseful(candidate)
      else { continue }
      if candidate.ranges.isEmpty { return Choice(part: nil, isOrdered: true, score: []) }
      let scan = DocumentPlan.Scan(
        index: place, ranges: candidate.ranges, isReversed: candidate.isReversed,
        tests: candidate.test.isEmpty ? [] : [candidate.test])
      let choice = Choice(
        part: .rows(scan), isOrdered: candidate.isOrdered,
        score: [
          candidate.equalities.count, candidate.isOrdered ? 1 : 0, candidate.isRanged ? 1 : 0,
          candidate.test.fields.count, -1, -rows.index.fields.count,
        ])
      if best.map({ $0.score.lexicographicallyPrecedes(choice.score) }) ?? true { best = choice }
      if candidate.isPoint { points.append((place, candidate)) }
    }
    if let join = join(points), best?.score.lexicographicallyPrecedes(join.score) == true {
      return join
    }
    return best
  }

  /// Whether reading the rows costs less than reading all documents.
  private func isUseful(_ candidate: IndexCandidate) -> Bool {
    if !candidate.equalities.isEmpty || candidate.isRanged { return true }
    // The rows are those of all documents that have the fields.
    if case .group = target.source { return true }
    return candidate.isOrdered && target.limit != nil
  }

  /// The indexes that have the most equalities together; nil when fewer than two add some.
  private func join(_ points: [(place: Int, candidate: IndexCandidate)]) -> Choice? {
    var equalities: Set<Alternative.Equality> = []
    var taken: [(place: Int, candidate: IndexCandidate)] = []
    while true {
      let next = points.max {
        $0.candidate.equalities.subtracting(equalities).count
          < $1.candidate.equalities.subtracting(equalities).count
      }
      guard let next, !next.candidate.equalities.isSubset(of: equalities) else { break }
      equalities.formUnion(next.candidate.equalities)
      taken.append(next)
    }
    guard taken.count > 1 else { return nil }
    let order = target.orders.first { order in
      constants[order.field] == nil
        && !equalities.contains(Alternative.Equality(field: order.field, isElement: false))
    }
    let isOrdered = order?.field.isDocumentID ?? false
    let direction = isOrdered ? order?.direction ?? .ascending : .ascending
    let scans = taken.map {
      DocumentPlan.Scan(
        index: $0.place, ranges: $0.candidate.ranges,
        isReversed: indexes[$0.place].index.nameDirection != direction)
    }
    let isRanged = taken.contains { $0.candidate.isRanged }
    return Choice(
      part: .join(scans), isOrdered: isOrdered,
      score: [equalities.count, isOrdered ? 1 : 0, isRanged ? 1 : 0, 0, -scans.count, 0])
  }

  // MARK: Hints

  /// The index that would serve an alternative best: its equalities, the field that contains, and the
  /// orders.
  private func hint(_ alternative: Alternative) -> DocumentIndex? {
    var fields = alternative.equalities.keys.filter { !$0.isElement }.map(\.field).sorted()
      .map { DocumentIndex.Field($0) }
    func add(_ path: FieldPath, _ kind: DocumentIndex.Field.Kind) {
      if !fields.contains(where: { $0.path == path }) {
        fields.append(DocumentIndex.Field(path, kind))
      }
    }
    if let element = alternative.equalities.keys.filter(\.isElement).map(\.field).min() {
      add(element, .contains)
    }
    for order in target.orders where constants[order.field] == nil {
      add(order.field, DocumentIndex.Field.Kind(order.direction))
      // Fields after the name have no effect on the order.
      if order.field.isDocumentID { break }
    }
    let (id, scope): (String, DocumentIndex.Scope) =
      switch target.source {
      case .collection(let path): (path.id, .collection)
      case .group(let id): (id, .group)
      case .document(let path): (path.collection.id, .collection)
      }
    guard let index = try? DocumentIndex(id, fields, scope: scope),
      choice(alternative, [DocumentIndexRows(index, prefix: [])]) != nil
    else { return nil }
    return index
  }
}
