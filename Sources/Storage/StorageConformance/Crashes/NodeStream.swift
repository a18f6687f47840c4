internal import ConiferKeyValue
internal import ConiferQuery
internal import ConiferStorage
internal import ConiferTree

/// A stream of rooms of nodes through a cache, with evictions, pins, dictionaries and indexes that are built along
/// the way.
///
/// Each commit adds a room with a query that is complete, and most change one leaf of the room before. A commit also
/// records which rooms the store held before it. So after a crash it is known what evictions had removed: it must
/// still be missing, and nothing else may be missing except what an eviction after the newest commit may remove. A part
/// of the data is pinned for ever: enough to train a dictionary from.
struct NodeStream: CrashWorkload {
  /// The strongest durability of a commit.
  let strongest: Durability
  /// Whether indexes are declared.
  let indexing: Bool
  private let compresses: Bool

  let words = "a stream of rooms"
  let callers = 1

  /// The bytes from which a dictionary is tried: less than is pinned.
  static let leastTraining = 96 << 10
  private static let tree = "rooms"
  private static let metadata = "stream"
  private static let base: Path = "base"
  private static let rooms: Path = "rooms"
  /// For how many more commits a pin lasts.
  private static let pinned = 9

  /// A stream for backends of a kind; nil for one that does not evict.
  init?(_ factory: BackendFactory) {
    guard factory.evicts else { return nil }
    strongest = factory.declared.strongest
    indexing = factory.options.encryption == nil
    compresses = factory.options.compression != .none
  }

  // MARK: What it writes

  private static func path(_ number: Int) -> Path { rooms.appending(Key("r\(number)")) }

  /// Sentences that do not compress, and of which every room has some: what a dictionary is for. They are so many that
  /// stores whose runs are large have several.
  private static let sentences: [Node] = {
    var random = SeededRandom(seed: 11)
    return (0..<600).map { _ in random.noise(60) }
  }()

  private static func messages(_ seed: Int, _ count: Int) -> [(Key, Node)] {
    var random = SeededRandom(seed: UInt64(seed))
    _ = random.next()
    return (0..<count).map { message in
      let node: Node = [
        "k": Node(.integer(Int64.random(in: 0...9, using: &random))),
        "text": random.pick(sentences),
      ]
      return (Key("m\(message)"), node)
    }
  }

  /// What is pinned for ever.
  private static let kept = Node(
    children: (0..<64).map { (Key("b\($0)"), Node(children: messages(5000 + $0, 32))) })

  /// A room after a commit.
  private static func room(_ number: Int, at newest: Int) -> Node {
    let room = Node(children: messages(number, 30))
    return newest > number && isChanged(number) ? room.setting(changed, to: changedLeaf) : room
  }

  /// Whether the next commit changes a leaf of a room: not behind an eviction, which may have removed it.
  private static func isChanged(_ number: Int) -> Bool { !isEvicting(number) }
  private static let changed: Path = "m3/text"
  private static let changedLeaf: Node = "changed"

  private static func isPinned(_ number: Int, at newest: Int) -> Bool {
    number % 4 == 0 && number <= newest && newest < number + pinned
  }

  /// The indexes that are declared after a commit.
  private func indexes(at newest: Int) throws -> [IndexDefinition] {
    guard indexing, newest >= 3 else { return [] }
    let by: QueryIndex = (newest - 3) / 10 % 2 == 0 ? .child("k") : .child("text")
    return [try IndexDefinition("rooms/$room", by: by)]
  }

  private func edits(
    _ number: Int, _ tree: TreeID, over before: RoomHoldings
  ) throws -> [StorageEdit] {
    let path = Self.path(number)
    var edits: [StorageEdit] = []
    if number == 1 {
      edits = [
        .overwrite(tree, Self.base, Self.kept), .pin(Pin(tree: tree, path: Self.base)),
        .saveQuery(TrackedQuery(tree: tree, path: Self.base, isComplete: true, lastUse: 1)),
      ]
    } else if Self.isChanged(number - 1) {
      edits = [
        .overwrite(
          tree, Self.path(number - 1).appending(Self.changed), Self.changedLeaf)
      ]
    }
    edits += [
      .overwrite(tree, path, Self.room(number, at: number)),
      .saveQuery(
        TrackedQuery(tree: tree, path: path, isComplete: true, lastUse: UInt64(number + 1))),
      .setMetadata(tree, Self.metadata, key(number) + before.bytes),
    ]
    if Self.isPinned(number, at: number) { edits.append(.pin(Pin(tree: tree, path: path))) }
    let old = number - Self.pinned
    if old > 0, Self.isPinned(old, at: old) {
      edits.append(.unpin(Pin(tree: tree, path: Self.path(old))))
    }
    if indexing, number % 10 == 3 {
      edits.append(.setIndexes(tree, try indexes(at: number)))
    }
    return edits
  }

  func kinds(of number: Int, by caller: Int) throws -> Set<EditKind> {
    EditKind.kinds(of: try edits(number, TreeID(rawValue: 0), over: RoomHoldings()))
  }

  // MARK: Writing

  /// Whether an eviction follows a commit.
  private static func isEvicting(_ number: Int) -> Bool { number % 5 == 2 }

  func run(
    on backend: any StorageBackend, after held: [Int], _ count: Int, isDurable: Bool,
    issue: @escaping @Sendable (Int, Int) -> Void,
    acknowledge: @escaping @Sendable (Int, Int, Int, Durability) -> Void
  ) async throws {
    let tree = try await backend.tree(named: Self.tree)
    let first = (held.first ?? 0) + 1
    for number in first..<(first + count) {
      var random = SeededRandom(seed: UInt64(number))
      _ = random.next()
      let durability =
        isDurable ? strongest : random.pick(Durability.allCases.filter { $0 <= strongest })
      let before = try backend.read { (view) throws(StoreError) in
        try RoomHoldings(view, tree, Self.rooms)
      }
      let edits = try edits(number, tree, over: before)
      issue(0, number)
      _ = try await backend.commit(edits, durability)
      acknowledge(0, number, number, durability)
      if Self.isEvicting(number) {
        let evicting = try backend.evicting()
        _ = try await evicting.evict(to: try evicting.space().cache * 2 / 3, dryRun: false)
      }
      if number % 5 == 1 || number % 5 == 4 { _ = try await backend.tidy(.milliseconds(5)) }
    }
  }

  // MARK: Checking

  func held(by backend: any StorageBackend, _ bounds: CrashBounds?) throws -> [Int] {
    let state = try backend.read { (view) throws(StoreError) in
      try newest(in: view, Self.tree, Self.metadata) { tree, number, bytes in
        try check(view, tree, number, over: RoomHoldings(bytes: bytes))
      }
    }
    if backend is any PackedRecords { CheckRecord.current?.count(Self.packed) }
    return try requireSound(state, backend, bounds)
  }

  private func check(
    _ view: any StorageView, _ tree: TreeID, _ newest: Int, over before: RoomHoldings
  ) throws {
    try require(newest > 0, .wrongData, "the number of the newest commit is \(newest)")
    let when = "after commit \(newest)"
    let found = try RoomHoldings(view, tree, Self.rooms)
    var expected = before
    expected.add(newest, leaves: Self.room(newest, at: newest).children.count)
    try expected.requireOnlyLess(found, mayBeLess: Self.isEvicting(newest), when)

    for number in 1...newest {
      let isKept = found.isTracked(number)
      try require(
        isKept || !Self.isPinned(number, at: newest), .evictedPin,
        "the pinned room \(number) is gone \(when)")
      guard isKept || found.leaves(number) > 0 else { continue }
      let (room, whole) = (
        try view.node(tree, Self.path(number)), Self.room(number, at: newest)
      )
      let isRight = isKept ? room.difference(from: whole) == nil : room.isPart(of: whole)
      try require(
        isRight, isKept ? .falseComplete : .wrongData,
        "room \(number) is not what was written \(when)")
    }
    let bad = try view.node(tree, Self.base).difference(from: Self.kept)
    try require(
      bad == nil, .evictedPin, "what is pinned for ever has changed \(when): \(bad ?? "")")
    let pins = [Self.base] + (1...newest).filter { Self.isPinned($0, at: newest) }.map(Self.path)
    let heldPins = try view.pins(tree)
    try require(
      Set(heldPins) == Set(pins.map { Pin(tree: tree, path: $0) }), .evictedPin,
      "the pins are \(heldPins) \(when)")
    let incidents = try view.incidents()
    try require(
      incidents.isEmpty, .silentLoss, "it reports damage where there was none: \(incidents)")
    try checkQueries(view, tree, newest, found)
    if try view.usage(tree).dictionaryCount > 0 { CheckRecord.current?.count(Self.withDictionary) }
  }

  private func checkQueries(
    _ view: any StorageView, _ tree: TreeID, _ newest: Int, _ found: RoomHoldings
  ) throws {
    let indexes = try view.indexes(tree).map(\.definition)
    try require(
      indexes == (try self.indexes(at: newest)), .halfBatch,
      "after commit \(newest) the indexes are \(indexes)")
    for number in max(1, newest - 1)...newest where found.isTracked(number) {
      for child in ["k", "text"] {
        let spec = try QuerySpec.default.ordered(byChild: child).limited(toFirst: 7)
        let answer = try view.query(tree, Self.path(number), spec)
        let expected = spec.evaluate(Self.room(number, at: newest))
        try require(
          answer.children.map(\.key) == expected.map(\.key), .wrongData,
          "after commit \(newest) the query of room \(number) by \(child) gives "
            + "\(answer.children.map(\.key)) by \(answer.explanation)")
      }
    }
  }

  /// The count of the states with a dictionary.
  static let withDictionary = "stores with a dictionary"

  /// The count of the states of a `PackedBackend`, which trains dictionaries; another backend need not.
  private static let packed = "packed stores"

  /// Requires that some state of a packed backend had a dictionary.
  func requireDictionary() throws {
    guard compresses, let record = CheckRecord.current, record.counts[Self.packed] != nil else {
      return
    }
    try require(record.counts[Self.withDictionary] != nil, "no dictionary was trained")
  }
}
