import ConiferKeyValue
import ConiferLeafStore
import ConiferQuery
import ConiferTree

/// An index of children of one tree with its paths as bytes, ready to be matched with entries.
final class IndexPlan: Sendable {
  /// Nodes with longer path keys are not indexed, since the rest of the store's key is needed for
  /// values and child keys.
  static let longestNode = 160
  /// How many bytes of a child's segment a row holds.
  static let longestSegment = 200

  /// The relation of an entry to the indexed nodes.
  enum Place {
    /// In a child of an indexed node: where the node's key ends, and the child's.
    case child(node: Int, end: Int)
    /// Beside them: nothing is indexed before this key.
    case outside(Bytes)
    /// Above them, or the priority of one.
    case above
  }

  let stored: StoredIndex
  let definition: IndexDefinition
  /// What its rows begin with.
  let prefix: Bytes
  /// The pattern's segments, nil for any.
  private let segments: [Bytes?]
  /// By component: the path below the child, nil for its own value or priority.
  let paths: [Bytes?]
  private let longestString: Int

  var components: [IndexDefinition.Component] { definition.components }
  /// How many segments the key of an indexed node has.
  var depth: Int { segments.count }

  init(_ stored: StoredIndex, _ definition: IndexDefinition, _ tree: TreeID) {
    let order = KeyOrder.realtimeDatabase
    self.stored = stored
    self.definition = definition
    prefix = IndexSet.prefix(tree, stored.number)
    segments = definition.pattern.keys.map { key in
      IndexDefinition.isWildcard(key) ? nil : PathKey.encode(Path([key]), order)
    }
    paths = definition.components.map { component -> Bytes? in
      guard case .child(let path) = component.by else { return nil }
      return PathKey.encode(path, order)
    }
    longestString = IndexValue.longestStrings / definition.components.count
  }

  /// The relation of a path key to the indexed nodes.
  func place(_ key: UnsafeRawBufferPointer) -> Place {
    var at = 0
    for segment in segments {
      guard let end = PathKey.segmentEnd(key, at) else { return .above }
      if let segment {
        let order = segment.withUnsafeBytes {
          compareBytes(UnsafeRawBufferPointer(rebasing: key[at..<end]), $0)
        }
        if order < 0 { return .outside(Bytes(key[..<at]) + segment) }
        if order > 0 { return .outside(Bytes(key[..<at]) + [PathKey.endMark]) }
      }
      at = end
    }
    guard at <= Self.longestNode else {
      return .outside(Bytes(key[..<at]) + [PathKey.endMark])
    }
    return PathKey.segmentEnd(key, at).map { .child(node: at, end: $0) } ?? .above
  }

  /// Whether a path key is that of an indexed node.
  func isIndexed(_ node: Bytes) -> Bool {
    // Any child key serves for the test.
    let child = node + [PathKey.firstChildMark + 4, 0]
    if case .child(node.count, _) = child.withUnsafeBytes(place) { return true }
    return false
  }

  // MARK: Rows

  /// The path key of the node that a row belongs to, or nil when the row is none.
  func node(_ row: Bytes) -> Bytes? {
    row.withUnsafeBytes { bytes in
      var at = prefix.count
      for _ in 0..<depth {
        guard let end = PathKey.segmentEnd(bytes, at) else { return nil }
        at = end
      }
      guard let end = valuesEnd(row, at)?.end, end < bytes.count else { return nil }
      return Bytes(bytes[prefix.count..<at])
    }
  }

  /// The values of a child as a row holds them.
  func values(_ facts: ChildFacts) -> Bytes {
    var bytes = Bytes()
    for index in components.indices {
      IndexValue.append(
        facts.content(index, self), isDescending: components[index].isDescending,
        longest: longestString, to: &bytes)
    }
    return bytes
  }

  /// A single value as a row holds it.
  func value(_ content: IndexValue.Content) -> Bytes {
    var bytes = Bytes()
    IndexValue.append(content, isDescending: false, longest: longestString, to: &bytes)
    return bytes
  }

  /// The row of a child.
  ///
  /// - Parameters:
  ///   - child: its path key.
  ///   - node: where the key of its node ends.
  func row(_ child: Bytes, node: Int, _ facts: ChildFacts) -> IndexRow {
    IndexRow(
      key: prefix + child[..<node] + values(facts) + child[node...].prefix(Self.longestSegment),
      segment: child.count - node > Self.longestSegment ? Bytes(child[node...]) : nil)
  }

  /// The end of the values after an offset of a row, and whether one of them was cut; nil when they
  /// are invalid.
  func valuesEnd(_ row: Bytes, _ start: Int) -> (end: Int, isCut: Bool)? {
    var at = start
    var isCut = false
    for component in components {
      guard let value = IndexValue.end(row, at, isDescending: component.isDescending) else {
        return nil
      }
      at = value.end
      isCut = isCut || value.isCut
    }
    return (at, isCut)
  }
}

/// One entry of an index.
struct IndexRow: Hashable {
  let key: Bytes
  /// The child's whole segment when the row's key holds only its beginning: the record then lists all
  /// children whose rows are the same.
  let segment: Bytes?

  /// The segments that the record of a row lists.
  ///
  /// - Throws: `damaged`.
  static func segments(_ key: Bytes, _ value: Bytes) throws(StoreError) -> [Bytes] {
    guard let segments = value.withUnsafeBytes({ segments(key, $0) }) else {
      throw Damage.error(Spaces.indexes, key)
    }
    return segments
  }

  /// The segments that a lent record lists, or nil when it is damaged.
  static func segments(_ key: Bytes, _ value: UnsafeRawBufferPointer) -> [Bytes]? {
    guard Record.isIntact(Spaces.indexes, key, value) else { return nil }
    var reader = LentReader(UnsafeRawBufferPointer(rebasing: value[Record.overhead...]))
    var segments: [Bytes] = []
    while reader.remaining > 0 {
      guard let segment = reader.size().flatMap({ reader.take($0) }) else { return nil }
      segments.append(Bytes(segment))
    }
    return segments
  }

  static func payload(_ segments: [Bytes]) -> Bytes {
    var writer = ByteWriter()
    for segment in segments { writer.sized(segment) }
    return writer.bytes
  }
}

/// The declared indexes of children of a tree, kept in memory.
final class IndexPlans: Sendable {
  let plans: [IndexPlan]

  private init(_ plans: [IndexPlan]) { self.plans = plans }

  /// The declared indexes of children of a tree, ready to be used.
  ///
  /// - Throws: as `IndexSet.read`.
  static func plans(_ view: any LeafView, _ tree: TreeID) throws(StoreError) -> [IndexPlan] {
    func read() throws(StoreError) -> [IndexPlan] {
      try IndexSet.read(view, tree).indexes.compactMap { index in
        index.definition.children.map { IndexPlan(index, $0, tree) }
      }
    }
    guard let snapshot = view.memorySnapshot else { return try read() }
    let known = try snapshot.object(Spaces.indexes, tree, IndexSet.key(tree)) {
      () throws(StoreError) in IndexPlans(try read())
    }
    if let known = known as? IndexPlans { return known.plans }
    return try read()
  }
}
