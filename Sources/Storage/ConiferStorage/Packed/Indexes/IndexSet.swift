import ConiferKeyValue
import ConiferLeafStore
import ConiferQuery
import ConiferTree

/// One index of a tree, as it is stored.
struct StoredIndex: Equatable, Sendable {
  /// The number that begins its rows; never given twice in its tree.
  let number: UInt32
  let definition: DeclaredIndex
  /// The path key up to which the rows are complete; nil when all are.
  var position: Bytes?

  var isReady: Bool { position == nil }

  /// Whether the rows of all children of a node are there.
  func holds(_ node: Bytes) -> Bool {
    position.map { compareBytes(node + [PathKey.endMark], $0) <= 0 } ?? true
  }
}

/// The declared indexes of one tree, and the numbers of those whose rows are still to be removed.
///
/// It is stored twice: the copy is written when the declarations change, and provides them when the
/// first record is damaged.
struct IndexSet: Equatable, Sendable {
  /// The version of a set of indexes of children, and of one of documents, which older versions of
  /// Conifer do not know.
  private static let (childrenVersion, documentsVersion): (UInt8, UInt8) = (1, 2)
  private static let newest = UInt32.max - 1

  var next: UInt32 = 1
  var indexes: [StoredIndex] = []
  var dropped: [UInt32] = []

  /// Whether something is to be built or removed.
  var hasWork: Bool { !dropped.isEmpty || indexes.contains { !$0.isReady } }

  static func key(_ tree: TreeID, isCopy: Bool = false) -> Bytes {
    StoreKey.prefix(tree) + [0, 0, 0, 0, isCopy ? 1 : 0]
  }

  /// The prefix of an index's rows.
  static func prefix(_ tree: TreeID, _ number: UInt32) -> Bytes {
    StoreKey.prefix(tree) + StoreKey.prefix(TreeID(rawValue: number))
  }

  /// The number that a row begins with, 0 for the records of the set; nil when it is no row.
  static func number(_ row: Bytes) -> UInt32? {
    row.count > 8 ? StoreKey.tree(Bytes(row[4..<8])).rawValue : nil
  }

  // MARK: Changing

  /// Replaces the declarations; indexes that are already declared stay as they are.
  ///
  /// - Returns: whether anything changed.
  mutating func declare(_ definitions: [DeclaredIndex]) throws(StoreError) -> Bool {
    var seen: Set<DeclaredIndex> = []
    let wanted = definitions.filter { seen.insert($0).inserted }
    if let most = wanted.first?.mostInTree, wanted.count > most {
      throw StoreError(
        .invalid,
        "A tree has at most \(most) indexes, not \(wanted.count): declare those that queries need.")
    }
    let old = indexes
    dropped += old.filter { !seen.contains($0.definition) }.map(\.number)
    let known = Dictionary(old.map { ($0.definition, $0) }) { first, _ in first }
    indexes = []
    for definition in wanted {
      if let known = known[definition] {
        indexes.append(known)
      } else {
        indexes.append(try fresh(definition))
      }
    }
    return indexes != old
  }

  /// Restarts all indexes, or one, under new numbers, since their rows cannot be trusted.
  mutating func restart(_ number: UInt32? = nil) throws(StoreError) {
    for (place, index) in indexes.enumerated() where number == nil || index.number == number {
      dropped.append(index.number)
      indexes[place] = try fresh(index.definition)
    }
  }

  private mutating func fresh(_ definition: DeclaredIndex) throws(StoreError) -> StoredIndex {
    guard next < Self.newest else {
      throw StoreError(
        .tooLarge, "The tree has had all the indexes it can: copy it into a new store.")
    }
    defer { next += 1 }
    return StoredIndex(number: next, definition: definition, position: [])
  }

  // MARK: Storing

  /// The set of a tree; empty when none was declared.
  ///
  /// - Throws: `damaged`, also when it is not there beside other records.
  static func read(_ view: any OrderedView, _ tree: TreeID) throws(StoreError) -> IndexSet {
    let key = key(tree)
    guard let value = try view.value(Spaces.indexes, key) else {
      // If the set were taken for empty, its numbers would be assigned again, and old rows would be
      // read under them.
      guard try !hasRows(view, tree) else { throw Damage.error(Spaces.indexes, key) }
      return IndexSet()
    }
    return try read(key, value)
  }

  /// Whether a tree has rows of indexes, also of dropped ones. Records of other kinds are from a
  /// later version.
  private static func hasRows(_ view: any OrderedView, _ tree: TreeID) throws(StoreError) -> Bool {
    let prefix = StoreKey.prefix(tree)
    var hasRows = false
    try view.walkKeys(Spaces.indexes, .atOrAfter(prefix)) { key, _ in
      guard key.starts(with: prefix) else { return .stop }
      hasRows = number(Bytes(key)) != nil
      return hasRows ? .stop : .next
    }
    return hasRows
  }

  /// The set that a record holds.
  static func read(_ key: Bytes, _ value: Bytes) throws(StoreError) -> IndexSet {
    // Made only where it is thrown: making its words takes longer than reading the record.
    func damage() -> StoreError { Damage.error(Spaces.indexes, key) }
    guard let payload = Record.open(Spaces.indexes, key, value) else { throw damage() }
    var reader = ByteReader(payload)
    guard let version = reader.byte() else { throw damage() }
    guard version == childrenVersion || version == documentsVersion else {
      throw StoreError(
        .newerFormat,
        "The indexes of a tree were declared by a newer version of Conifer: open the store with it. "
          + "Nothing was changed.")
    }
    func number() -> UInt32? { reader.varint().flatMap { UInt32(exactly: $0) } }
    var set = IndexSet()
    guard let next = number(), let count = reader.size() else { throw damage() }
    set.next = next
    for _ in 0..<count {
      guard let number = number(), let state = reader.byte(), state <= 1,
        let position = reader.sized(), let definition = declared(&reader, version)
      else { throw damage() }
      set.indexes.append(
        StoredIndex(
          number: number, definition: definition, position: state == 1 ? nil : position))
    }
    guard let left = reader.size() else { throw damage() }
    for _ in 0..<left {
      guard let number = number() else { throw damage() }
      set.dropped.append(number)
    }
    // Two indexes with one number would share rows.
    let numbers = set.indexes.map(\.number) + set.dropped
    guard reader.isAtEnd,
      set.indexes.first.map({ set.indexes.count <= $0.definition.mostInTree }) ?? true,
      Set(numbers).count == numbers.count, numbers.allSatisfy({ $0 > 0 && $0 < set.next })
    else { throw damage() }
    return set
  }

  /// Stores the set, even without declarations, and its copy if that has other declarations.
  func write(_ tx: LeafTransaction, _ tree: TreeID) throws(StoreError) {
    let (key, copy) = (Self.key(tree), Self.key(tree, isCopy: true))
    tx.effects.changesIndexes = true
    try tx.put(Spaces.indexes, key, payload: payload)
    if try copyIsOld(tx, copy) { try tx.put(Spaces.indexes, copy, payload: payload) }
  }

  /// Whether the copy has other declarations, or cannot be read.
  private func copyIsOld(_ tx: LeafTransaction, _ copy: Bytes) throws(StoreError) -> Bool {
    guard let value = try tx.value(Spaces.indexes, copy) else { return true }
    guard let known = try? Self.read(copy, value) else { return true }
    return !known.mayReplace(self)
  }

  /// Whether the set, which is a copy, has the declarations of another one and gives none of its numbers again.
  func mayReplace(_ set: IndexSet) -> Bool {
    indexes.map(\.definition) == set.indexes.map(\.definition) && next >= set.next
  }

  private var payload: Bytes {
    var writer = ByteWriter()
    let holdsDocuments = indexes.contains { $0.definition.documents != nil }
    writer.byte(holdsDocuments ? Self.documentsVersion : Self.childrenVersion)
    writer.varint(UInt64(next))
    writer.varint(indexes.count)
    for index in indexes {
      writer.varint(UInt64(index.number))
      writer.byte(index.isReady ? 1 : 0)
      writer.sized(index.position ?? [])
      switch index.definition {
      case .children(let definition): Self.append(definition, to: &writer)
      case .documents(let index): DocumentIndexCodec.append(index, to: &writer)
      }
    }
    writer.varint(dropped.count)
    for number in dropped { writer.varint(UInt64(number)) }
    return writer.bytes
  }

  private enum Kind {
    static let child: UInt8 = 1
    static let value: UInt8 = 2
    static let priority: UInt8 = 3
    static let descending: UInt8 = 0x80
  }

  private static func append(_ definition: IndexDefinition, to writer: inout ByteWriter) {
    NodeCodec.append(definition.pattern, to: &writer)
    writer.varint(definition.components.count)
    for component in definition.components {
      let flag = component.isDescending ? Kind.descending : 0
      switch component.by {
      case .child(let path):
        writer.byte(Kind.child | flag)
        NodeCodec.append(path, to: &writer)
      case .value: writer.byte(Kind.value | flag)
      // A definition has no component by key.
      case .priority, .key: writer.byte(Kind.priority | flag)
      }
    }
  }

  private static func declared(_ reader: inout ByteReader, _ version: UInt8) -> DeclaredIndex? {
    version == documentsVersion
      ? DocumentIndexCodec.index(&reader).map { .documents($0) }
      : definition(&reader).map { .children($0) }
  }

  private static func definition(_ reader: inout ByteReader) -> IndexDefinition? {
    guard let pattern = NodeCodec.path(&reader), let count = reader.size() else { return nil }
    var components: [IndexDefinition.Component] = []
    for _ in 0..<count {
      guard let byte = reader.byte() else { return nil }
      let by: QueryIndex
      switch byte & ~Kind.descending {
      case Kind.child:
        guard let path = NodeCodec.path(&reader) else { return nil }
        by = .child(path)
      case Kind.value: by = .value
      case Kind.priority: by = .priority
      default: return nil
      }
      components.append(
        IndexDefinition.Component(by, isDescending: byte & Kind.descending != 0))
    }
    return try? IndexDefinition(pattern, components)
  }
}
