import ConiferKeyValue
import ConiferLeafStore
import ConiferTree

/// The ranges of path keys that a tree's pins and tracked queries cover, found one after the other
/// through their indexes. What was read for one place is kept for the next one, since one path may
/// have a thousand queries. So pins, queries and the queue must not change in the meantime.
///
/// A pin and a default query cover all at and below their path. A filtered query covers the
/// children whose keys it holds, or all children while it holds none. A query of documents covers
/// its matches, and a pin of the query covers the same; waiting writes cover their documents. A path or key that an index cuts covers
/// every key that begins like it.
struct Coverage {
  /// What counts as covering.
  enum Scope {
    /// Pins alone.
    case pins
    /// What is kept whatever is listened to: pins, and documents with waiting writes.
    case kept
    /// That, and the queries of these numbers.
    case held(Set<QueryID>)
    /// That, and all tracked queries.
    case all
  }

  typealias KeyRange = PruneRanges.KeyRange

  let view: any OrderedView
  let tree: TreeInfo
  let scope: Scope
  private let queries: Queries
  private let prefix: Bytes
  /// Pins first.
  private let spaces: [Space]
  private let coversWritten: Bool
  private let known: Known

  /// What was read for a place; it is valid for later places.
  private final class Known {
    private var at: Bytes = []
    /// By space: the rows at the paths above the place, the shortest path first.
    private var levels: [[Level]]
    /// By query: what it covers first that ends behind the place, or nil when it covers no more.
    var children: [QueryID: KeyRange?] = [:]
    /// The lanes in which writes wait.
    var lanes: [Lane]?

    /// The rows at one path.
    private struct Level {
      /// What their keys begin with.
      let prefix: Bytes
      let rows: [(key: Bytes, value: Bytes)]
    }

    init(spaces: Int) { levels = Array(repeating: [], count: spaces) }

    func move(to place: Bytes) {
      if bytesPrecede(place, at) { children = [:] }
      at = place
    }

    /// The rows that begin with a prefix, which is the one of the path at this depth.
    func rows(
      _ space: Int, _ depth: Int, _ prefix: Bytes,
      _ read: () throws(StoreError) -> [(key: Bytes, value: Bytes)]
    ) throws(StoreError) -> [(key: Bytes, value: Bytes)] {
      if depth < levels[space].count {
        if levels[space][depth].prefix == prefix { return levels[space][depth].rows }
        levels[space].removeSubrange(depth...)
      }
      let rows = try read()
      levels[space].append(Level(prefix: prefix, rows: rows))
      return rows
    }
  }

  init(_ view: any OrderedView, _ tree: TreeInfo, _ scope: Scope = .all) {
    self.view = view
    self.tree = tree
    self.scope = scope
    self.queries = Queries(view: view, tree: tree.id, order: tree.order)
    self.prefix = StoreKey.prefix(tree.id)
    spaces =
      switch scope {
      case .pins, .kept: [Spaces.pins]
      case .held, .all: [Spaces.pins, Spaces.queryIndex]
      }
    coversWritten = if case .pins = scope { false } else { tree.order == .documents }
    known = Known(spaces: spaces.count)
  }

  /// The first covered range that ends after a path key; it may begin before it.
  func next(_ at: Bytes) throws(StoreError) -> KeyRange? {
    var best: KeyRange?
    known.move(to: at)
    let above = Self.boundaries(at).map { prefix + at[..<$0] + [IndexKey.mark] }
    for (index, space) in spaces.enumerated() {
      for (depth, prefix) in above.enumerated() {
        let rows = try known.rows(index, depth, prefix) { () throws(StoreError) in
          try view.entries(space, prefix: prefix)
        }
        for (key, value) in rows {
          guard let range = try range(space, key, value, behind: at) else { continue }
          if compareBytes(range.low, at) <= 0 { return range }
          best = Self.first(best, range)
        }
      }
      var place = prefix + at.prefix(IndexKey.longest)
      while let (key, value) = try view.first(space, atOrAfter: place), key.starts(with: prefix) {
        if let best, compareBytes(best.low, Self.path(key)) <= 0 { break }
        if let range = try range(space, key, value, behind: at) { best = Self.first(best, range) }
        place = key + [0]
      }
    }
    if coversWritten, let written = try writtenDocument(at) {
      if compareBytes(written.low, at) <= 0 { return written }
      best = Self.first(best, written)
    }
    return best
  }

  /// Whether a pin covers a query's data, or a write waits for the one document that it is of, so that
  /// the query's record must be kept too.
  func isPinned(_ query: TrackedQuery) throws(StoreError) -> Bool {
    let key = PathKey.encode(query.path, tree.order)
    if try Coverage(view, tree, .kept).covers(key) { return true }
    guard tree.order == .documents else { return false }
    let row = queries.indexKey(query.path, query.parameters)
    return try view.get(Spaces.pins, row) { _ in true } ?? false
  }

  /// Whether something covers all of a path key.
  func covers(_ key: Bytes) throws(StoreError) -> Bool {
    guard let range = try next(key) else { return false }
    return compareBytes(range.low, key) <= 0
  }

  /// Whether a path key is in a document with waiting writes.
  func isWritten(_ key: Bytes) throws(StoreError) -> Bool {
    guard tree.order == .documents, let range = try writtenDocument(key) else { return false }
    return compareBytes(range.low, key) <= 0
  }

  /// The first document with waiting writes that ends after a path key: such documents are covered,
  /// since the writes need them. Only keys are read, since a lane's encryption key may be missing.
  private func writtenDocument(_ at: Bytes) throws(StoreError) -> KeyRange? {
    var best: KeyRange?
    let lanes =
      if let lanes = known.lanes { lanes } else {
        try QueueReader.lanes(view, tree.id, in: Spaces.queueIndex)
      }
    known.lanes = lanes
    for lane in lanes {
      let rows = QueueReader.prefix(lane)
      // The document in which the path key lies sorts before it.
      let place = rows + documentOf(at).prefix(IndexKey.longest)
      try view.walkKeys(Spaces.queueIndex, .atOrAfter(place)) { row, _ in
        guard row.starts(with: rows), row.byteCount >= rows.count + 9 else { return .stop }
        let key = Bytes(Bytes(row)[rows.count...].dropLast(9))
        let isCut = key.count >= IndexKey.longest
        let high = isCut ? StoreKey.end(of: key) ?? [PathKey.endMark] : key + [PathKey.endMark]
        guard compareBytes(at, high) < 0 else { return .next }
        best = Self.first(best, KeyRange(low: key, high: high))
        return .stop
      }
    }
    return best
  }

  /// The path key of the document to which a path key belongs; the key itself when it belongs to
  /// none.
  private func documentOf(_ at: Bytes) -> Bytes {
    at.withUnsafeBytes { bytes in
      guard let collection = PathKey.segmentEnd(bytes, 0),
        let document = PathKey.segmentEnd(bytes, collection)
      else { return at }
      return Bytes(bytes[..<document])
    }
  }

  /// The covered parts of a range, ascending, with adjacent ones joined.
  func ranges(_ low: Bytes, _ high: Bytes) throws(StoreError) -> [KeyRange] {
    var ranges: [KeyRange] = []
    var at = low
    while let range = try next(at), compareBytes(range.low, high) < 0 {
      let from = compareBytes(range.low, at) > 0 ? range.low : at
      let to = compareBytes(range.high, high) < 0 ? range.high : high
      if let last = ranges.last, last.high == from {
        ranges[ranges.count - 1] = KeyRange(low: last.low, high: to)
      } else {
        ranges.append(KeyRange(low: from, high: to))
      }
      guard compareBytes(range.high, high) < 0 else { break }
      at = range.high
    }
    return ranges
  }

  /// The ends of the complete segments of a path key for which there may be index rows.
  private static func boundaries(_ at: Bytes) -> [Int] {
    var ends = [0]
    at.withUnsafeBytes { bytes in
      while let last = ends.last, let end = PathKey.segmentEnd(bytes, last), end <= at.count,
        end < IndexKey.longest
      {
        ends.append(end)
      }
    }
    if at.count >= IndexKey.longest { ends.append(IndexKey.longest) }
    return ends
  }

  private static func first(_ a: KeyRange?, _ b: KeyRange) -> KeyRange {
    guard let a, compareBytes(a.low, b.low) <= 0 else { return b }
    return a
  }

  /// The path key in a row of an index: between the tree and the mark with the number.
  private static func path(_ row: Bytes) -> Bytes { Bytes(row.dropFirst(4).dropLast(9)) }

  /// The first range of a row's query or pin that ends after a path key.
  private func range(
    _ space: Space, _ row: Bytes, _ value: Bytes, behind at: Bytes
  ) throws(StoreError) -> KeyRange? {
    let path = Self.path(row)
    var whole = KeyRange(low: path, high: path + [PathKey.endMark])
    let isCut = path.count >= IndexKey.longest
    if isCut { whole = KeyRange(low: path, high: StoreKey.end(of: path) ?? [PathKey.endMark]) }
    guard compareBytes(at, whole.high) < 0 else { return nil }
    let isDefault =
      StoreKey.number(atEndOf: row) == Queries.hash(path, TrackedQuery.defaultParameters)
    let isPin = space == Spaces.pins
    let id: QueryID
    if isPin {
      guard tree.order == .documents, !isCut, !isDefault, DocumentKey.document(path) == nil
      else { return whole }
      // Its query's row in the index has the same key.
      guard let number = try view.value(Spaces.queryIndex, row) else { return nil }
      id = try queries.number(row, number)
    } else {
      id = try queries.number(row, value)
      if case .held(let held) = scope, !held.contains(id) { return nil }
    }
    if isCut || isDefault { return whole }
    if let child = known.children[id], child.map({ bytesPrecede(at, $0.high) }) ?? true {
      return child
    }
    let keys = queries.key(id)
    var found: KeyRange? = whole
    let isEmpty = try view.keys(Spaces.queryKeys, prefix: keys, limit: 1).isEmpty
    if tree.order == .documents || !isEmpty { found = try child(of: path, keys, behind: at) }
    known.children[id] = .some(found)
    return found
  }

  /// The first child that a query holds and that ends after a path key.
  private func child(
    of path: Bytes, _ keys: Bytes, behind at: Bytes
  ) throws(StoreError) -> KeyRange? {
    let rest = at.starts(with: path) ? Bytes(at[path.count...]) : []
    // The child in which the path key lies sorts before it.
    let end = rest.withUnsafeBytes { bytes in
      let first = PathKey.segmentEnd(bytes, 0)
      // A group of collections holds documents of several: two segments each.
      guard tree.order == .documents, path.isEmpty, let first else { return first ?? rest.count }
      return PathKey.segmentEnd(bytes, first) ?? first
    }
    var place = keys + Queries.cut(Bytes(rest.prefix(end)))
    while let (row, _) = try view.first(Spaces.queryKeys, atOrAfter: place), row.starts(with: keys)
    {
      let segment = row[keys.count...]
      let isCut = segment.count > Queries.longestSegment
      let low = path + segment.prefix(Queries.longestSegment)
      let high = isCut ? StoreKey.end(of: low) ?? [PathKey.endMark] : low + [PathKey.endMark]
      if compareBytes(at, high) < 0 { return KeyRange(low: low, high: high) }
      place = row + [0]
    }
    return nil
  }
}
