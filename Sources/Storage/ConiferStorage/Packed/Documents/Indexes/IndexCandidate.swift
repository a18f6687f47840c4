import ConiferDocument
import ConiferKeyValue

/// One index as a way to find the documents of one alternative of a target.
struct IndexCandidate {
  /// The equalities that begin the index.
  private(set) var equalities: Set<Alternative.Equality> = []
  /// Whether every field of the index has an equality.
  private(set) var isPoint = false
  /// Whether a range, beyond the equalities, leaves out rows.
  private(set) var isRanged = false
  /// Whether rows are in the target's order.
  private(set) var isOrdered = false
  /// Whether they are, read in reverse.
  private(set) var isReversed = false
  /// The rows; empty when no document can match.
  private(set) var ranges: [RowRange] = []

  /// What rows tell of the alternative's other conditions.
  private(set) var test = RowTest(fields: [], names: [])

  /// The index with what its rows begin with.
  private let rows: DocumentIndexRows
  private let target: DocumentTarget
  private let alternative: Alternative
  /// Fields that have one value in all documents of the target.
  private let constants: [FieldPath: DocumentValue]
  /// The index's prefix, the collection's path, and the values of the equalities.
  private var bytes: Bytes = []
  /// Where values begin.
  private var start = 0
  /// How many fields of the index the equalities take.
  private var count = 0
  /// The end of the following fields whose order is the target's, and whether the name follows
  /// them.
  private var aligned = (end: 0, hasName: false)

  private var index: DocumentIndex { rows.index }

  /// Nil when the index does not hold all the documents of the alternative.
  init?(
    _ rows: DocumentIndexRows, _ target: DocumentTarget, _ alternative: Alternative,
    _ constants: [FieldPath: DocumentValue]
  ) {
    guard let place = Self.place(rows, target.source) else { return nil }
    let orders = target.orders.map(\.field)
    for field in rows.index.fields {
      // A document that lacks the field has no row, so it must not match.
      let isImplied =
        field.kind == .contains
        ? alternative.value(field.path, isElement: true) != nil
        : alternative.fields.contains(field.path) || orders.contains(field.path)
      guard isImplied else { return nil }
    }
    self.rows = rows
    self.target = target
    self.alternative = alternative
    self.constants = constants
    bytes = rows.prefix + place
    start = bytes.count
    takeEqualities()
    align()
    ranges = makeRanges()
    test = makeTest()
  }

  private static func place(
    _ rows: DocumentIndexRows, _ source: DocumentQuery.Source
  ) -> Bytes? {
    switch source {
    case .collection(let path): rows.index.scope == .collection ? rows.place(path) : nil
    case .group(let id):
      rows.index.scope == .group && rows.index.collectionID.utf8.elementsEqual(id.utf8) ? [] : nil
    case .document: nil
    }
  }

  private mutating func takeEqualities() {
    for field in index.fields {
      let equality = Alternative.Equality(field: field.path, isElement: field.kind == .contains)
      guard let value = alternative.equalities[equality] else { break }
      bytes = Self.appending(value, field.kind, to: bytes)
      equalities.insert(equality)
      count += 1
    }
    isPoint = count == index.fields.count
  }

  private static func appending(
    _ value: DocumentValue, _ kind: DocumentIndex.Field.Kind, to bytes: Bytes
  ) -> Bytes {
    var encoder = OrderedEncoder(bytes)
    encoder.append(value, kind.direction ?? .ascending)
    return encoder.bytes
  }

  // MARK: Order

  /// Whether rows, or matching documents, all have one value of a field.
  private func constant(_ field: FieldPath) -> DocumentValue? {
    let equality = Alternative.Equality(field: field, isElement: false)
    return equalities.contains(equality) ? alternative.equalities[equality] : constants[field]
  }

  /// Finds how far the order of the rows is the target's.
  private mutating func align() {
    var orders = target.orders.filter { constant($0.field) == nil }[...]
    var isFlipped: Bool?
    func agrees(_ a: Direction, _ b: Direction) -> Bool {
      if let isFlipped { return isFlipped == (a != b) }
      isFlipped = a != b
      return true
    }
    var place = count
    while place < index.fields.count {
      let field = index.fields[place]
      if field.kind == .contains { break }
      if constant(field.path) == nil {
        guard let order = orders.first, order.field == field.path,
          let direction = field.kind.direction, agrees(direction, order.direction)
        else { break }
        orders.removeFirst()
      }
      place += 1
    }
    var hasName = false
    // Fields after the name have no effect on the order.
    if place == index.fields.count, let order = orders.first, order.field.isDocumentID {
      hasName = agrees(index.nameDirection, order.direction)
    }
    aligned = (place, hasName)
    isOrdered = hasName
    isReversed = isFlipped ?? false
  }

  // MARK: Ranges

  private mutating func makeRanges() -> [RowRange] {
    var ranges = [range(RowBound(bytes: bytes), RowBound(bytes: bytes, isAfter: true))]
    if count < index.fields.count {
      let field = index.fields[count]
      if let direction = field.kind.direction, alternative.isRanged(field.path) {
        isRanged = true
        let values = alternative.ranges[field.path] ?? []
        ranges = (direction == .ascending ? values : values.reversed().map(\.inverted)).map {
          range(
            RowBound(bytes: bytes + $0.low.bytes, isAfter: $0.low.isAfter),
            RowBound(bytes: bytes + $0.high.bytes, isAfter: $0.high.isAfter))
        }
      }
    } else if let names = nameRange() {
      isRanged = true
      ranges = [names]
    }
    for cursor in [
      cursorRange(target.start, isStart: true), cursorRange(target.end, isStart: false),
    ] {
      guard let cursor else { continue }
      isRanged = true
      ranges = ranges.compactMap { $0.intersection(cursor) }
    }
    return RowRange.joined(ranges.filter { bytesPrecede($0.low, $0.high) })
  }

  /// The test of the fields behind the first one that is bounded by ranges.
  private func makeTest() -> RowTest {
    let fields = index.fields.indices.dropFirst(count + 1).compactMap { place -> RowTest.Field? in
      let field = index.fields[place]
      switch field.kind.direction {
      case .ascending, .descending:
        guard alternative.isRanged(field.path), let ranges = alternative.ranges[field.path] else {
          return nil
        }
        return RowTest.Field(
          place,
          field.kind == .ascending ? ranges : ranges.reversed().map(\.inverted))
      case nil:
        // A document has a row for each element, one of them for this one.
        return alternative.value(field.path, isElement: true).map {
          let value = FieldFilter.encoded($0)
          let (low, high) = (
            ValueBound(bytes: value, isAfter: false), ValueBound(bytes: value, isAfter: true)
          )
          return RowTest.Field(place, [ValueRange(low: low, high: high)])
        }
      }
    }
    return RowTest(fields: fields, names: alternative.nameFilters)
  }

  private func range(_ low: RowBound, _ high: RowBound) -> RowRange {
    RowRange(low: low.low(start), high: high.high(start))
  }

  /// The rows of the names that are allowed, where names follow the equalities.
  private func nameRange() -> RowRange? {
    let (low, high) = alternative.names
    guard low != nil || high != nil else { return nil }
    let isAscending = index.nameDirection == .ascending
    let (first, last) = isAscending ? (low, high) : (high, low)
    return range(
      RowBound(bytes: bytes, name: first.flatMap(name) ?? []),
      RowBound(bytes: bytes, name: last.flatMap(name) ?? [], isAfter: true))
  }

  /// The name of a document of the source, as rows hold it.
  private func name(_ path: DocumentPath) -> Bytes? {
    if case .collection(let collection) = target.source, !collection.contains(path) { return nil }
    return rows.name(path)
  }

  /// The rows that a cursor includes, as far as the index has the target's order; nil for all.
  private func cursorRange(_ cursor: DocumentQuery.Cursor?, isStart: Bool) -> RowRange? {
    guard let cursor else { return nil }
    var edge = RowBound(bytes: bytes)
    var place = count
    var isExact = true
    for (order, value) in zip(target.orders, cursor.values) {
      if let constant = constant(order.field) {
        isExact = FieldFilter.encoded(constant) == FieldFilter.encoded(value)
        if isExact { continue } else { break }
      }
      while place < aligned.end, let constant = constant(index.fields[place].path) {
        edge.bytes = Self.appending(constant, index.fields[place].kind, to: edge.bytes)
        place += 1
      }
      if place < aligned.end, index.fields[place].path == order.field {
        edge.bytes = Self.appending(value, index.fields[place].kind, to: edge.bytes)
        place += 1
        continue
      }
      guard order.field.isDocumentID, place == index.fields.count, aligned.hasName,
        case .reference(let reference) = value, let name = name(reference.path)
      else {
        isExact = false
        break
      }
      edge.name = name
      break
    }
    guard edge.bytes.count > bytes.count || !edge.name.isEmpty else { return nil }
    let isLow = isStart != isReversed
    // Rows on the edge stay, unless the cursor excludes them.
    let isWithin = cursor.isInclusive || !isExact
    edge.isAfter = isLow != isWithin
    let all = RowBound(bytes: bytes)
    return isLow
      ? range(edge, RowBound(bytes: bytes, isAfter: true)) : range(all, edge)
  }
}
