import ConiferDocument
import ConiferKeyValue
import ConiferStorage
import ConiferTree
import StorageConformance
import TestSupport

/// What a golden store of documents holds: the commits that made it. They stay as they are, since the stores do. What
/// is new gets a store of its own, with more commits.
enum GoldenDocuments {
  /// The stores; the second one has versions of matches, the third one overlays by the ids of collections.
  static let stores = 1...3
  static let name = "documents"
  static let tree = TreeID(rawValue: 1)
  static let lanes = [Lane(tree: tree), Lane(tree: tree, identity: "zoë")]
  private static let database = DatabaseID(project: "golden")

  /// Makes a store in an empty directory's `store`, and leaves it as a killed process would.
  ///
  /// - Returns: the files' names and bytes.
  static func make(
    _ kind: GoldenBackend, _ number: Int, _ directory: String
  ) async throws -> [(name: String, bytes: Bytes)] {
    let store = directory + "/store"
    var backend = try kind.open(store, small: true)
    let made = try await backend.tree(named: name, order: .documents)
    guard made == tree else { throw StoreError(.invalid, "The first tree is \(made.rawValue).") }
    let commits = try commits(number)
    for edits in commits.dropLast() { _ = try await backend.commit(edits, .process) }
    while try await backend.tidy(.seconds(1)) {}
    try await backend.close()
    backend = try kind.open(store, small: true)
    _ = try await backend.commit(commits.last ?? [], .power)
    let files = Files.all(store).filter {
      !GoldenBackend.isPassing($0.name) && $0.name != "reserve"
    }
    try await backend.close()
    return files
  }

  /// The state after all commits.
  static func model(_ number: Int) throws -> StorageModel {
    var model = StorageModel()
    _ = try model.tree(named: name, order: .documents, id: tree)
    for edits in try commits(number) { _ = try model.commit(edits) }
    return model
  }

  private static func commits(_ number: Int) throws -> [[StorageEdit]] {
    [try indexes(), try documents(), try queries(), try queue()] + (try ends())
      + (number > 1 ? try versions() : []) + (number > 2 ? try groups() : [])
  }

  // MARK: Documents

  private static func path(_ text: String) throws -> DocumentPath { try DocumentPath(text) }

  private static func field(_ text: String) throws -> FieldPath { try FieldPath(canonical: text) }

  private static func indexes() throws -> [StorageEdit] {
    let indexes = [
      try DocumentIndex("rooms", [.init(try field("n"))]),
      try DocumentIndex(
        "rooms", [.init(try field("tags"), .contains), .init(try field("n"), .descending)]),
      try DocumentIndex("messages", [.init(try field("text"))], scope: .group),
    ]
    return [.documents(tree, [.setIndexes(indexes)])]
  }

  /// A field of each type.
  private static func values() throws -> MapValue {
    [
      "null": .null, "true": true, "false": false, "zero": 0, "least": .integer(.min),
      "greatest": .integer(.max), "half": 0.5, "negative zero": .double(-0.0),
      "nan": .double(.nan), "infinity": .double(.infinity), "text": "naïve \u{1F600}",
      "empty": "", "bytes": .bytes([0, 127, 255]),
      "time": .timestamp(try Timestamp(seconds: -62_135_596_800, nanoseconds: 999_999_000)),
      "place": .geoPoint(try GeoPoint(latitude: -45.5, longitude: 180)),
      "reference": .reference(DocumentName(try path("rooms/r1"), in: database)),
      "array": [1, "two", .array([]), ["three": 3]], "vector": .vector([1, -0.0, 2.5]),
      "map": ["": "no name", "é": ["deep": [:]]],
    ]
  }

  private static func documents() throws -> [StorageEdit] {
    let (version, readTime) = (
      try Timestamp(seconds: 1_700_000_000, nanoseconds: 5000),
      try Timestamp(seconds: 1_700_000_060)
    )
    func put(_ text: String, _ state: Document.State, _ writes: Document.Writes = .synced) throws
      -> DocumentEdit
    {
      .put(
        Document(try path(text), state, version: version, readTime: readTime, writes: writes))
    }
    let long = String(repeating: "long", count: 50)
    let large = String(repeating: "a document in chunks ", count: 16_000)
    var edits = [
      try put("kinds/all", .found(try values())), try put("kinds/empty", .found([:])),
      try put("kinds/missing", .missing), try put("kinds/unknown", .unknown),
      try put("kinds/committed", .found(["a": 1]), .committed),
      try put("kinds/gone and committed", .missing, .committed),
      .put(Document(try path("kinds/without times"), .found(["a": 1]))),
      try put("kinds/large", .found(["text": .string(large), "n": 1])),
      try put("kinds/__id7__", .found(["n": 7])), try put("kinds/__id-3__", .found(["n": -3])),
      try put("kinds/__id9223372036854775807__", .found(["n": 0])),
      try put("kinds/__id07__", .found(["n": 0])), try put("kinds/\0a", .found(["n": 0])),
      try put("kinds/\(long)1", .found(["n": 1])), try put("kinds/\(long)2", .missing),
      try put("\(long)/a/kinds/b", .found(["n": 1])),
    ]
    for number in 0..<40 as Range<Int64> {
      let tags: DocumentValue = .array((0..<number % 4).map { .integer($0) })
      edits.append(
        try put("rooms/r\(number)", .found(["n": .integer(number / 2), "tags": tags])))
    }
    for number in 0..<12 as Range<Int64> {
      edits.append(
        try put(
          "rooms/r\(number % 3)/messages/m\(number)", .found(["text": .string("message \(number)")])
        ))
    }
    return [.documents(tree, edits)]
  }

  // MARK: Queries

  private static func queries() throws -> [StorageEdit] {
    let rooms = try DocumentQuery(.collection(CollectionPath("rooms")), in: database)
      .ordered(by: field("n")).limited(to: 3).target
    let messages = DocumentQuery(.group("messages"), in: database).target
    let one = DocumentQuery(.document(try path("kinds/all")), in: database).target
    return [
      .saveQuery(
        TrackedQuery(lanes[0], rooms, isComplete: true, lastUse: 5, resumeToken: [1, 2, 3])),
      .saveQuery(TrackedQuery(lanes[1], messages, lastUse: 6)),
      .saveQuery(TrackedQuery(lanes[1], one, isComplete: true, lastUse: 7)),
      .documents(
        tree,
        [
          .setMatches(QueryID(rawValue: 1), try ["rooms/r0", "rooms/r1", "rooms/r2"].map(path)),
          .setMatches(
            QueryID(rawValue: 2), try ["rooms/r0/messages/m0", "rooms/r1/messages/m1"].map(path)),
          .setMatches(QueryID(rawValue: 3), [try path("kinds/all")]),
        ]), .pin(Pin(lanes[0], rooms)),
      .setMetadata(tree, "cursor", [7]),
    ]
  }

  /// As of when matches were whole, and documents that were read later.
  private static func versions() throws -> [[StorageEdit]] {
    let readTime = try Timestamp(seconds: 1_700_000_060)
    let rooms = MatchesVersion(.collection(try CollectionPath("rooms")), at: readTime)
    let later = try Timestamp(seconds: 1_700_000_090, nanoseconds: 1000)
    let paths = ["rooms/r8", "rooms/r2/messages/m12"]
    return [
      [
        .documents(
          tree,
          [
            .setMatchesVersion(QueryID(rawValue: 1), rooms),
            .setMatchesVersion(
              QueryID(rawValue: 2), MatchesVersion(.group("messages"), at: readTime)),
          ])
      ],
      [
        .documents(
          tree,
          try paths.map {
            .put(Document(try path($0), .found(["n": -1]), version: later, readTime: later))
          })
      ],
    ]
  }

  // MARK: Writes

  private static func batch(_ mutations: [ConiferDocument.Mutation]) throws -> WritePayload {
    MutationBatch(mutations, written: try Timestamp(seconds: 1_700_000_100)) {
      Document($0, .found(["n": 1, "tags": [1, 2]]))
    }.payload
  }

  private static func queue() throws -> [StorageEdit] {
    let transforms: [(String, WriteValue)] = [
      ("time", .serverTimestamp), ("n", .increment(2)), ("least", .minimum(-1)),
      ("most", .maximum(2.5)), ("tags", .arrayUnion([9])),
    ]
    let room = try path("rooms/r1")
    let batches = [
      try batch([.set(path("rooms/new"), [("n", .value(1)), ("tags", .value([1]))], in: database)]),
      try batch([.merge(room, transforms, in: database), .delete(path("rooms/r2"))]),
      try batch([
        .update(
          room,
          [(field("m.x"), .value(1)), (field("tags"), .arrayRemove([1])), (field("n"), .delete)],
          in: database)
      ]),
      try batch([.verify(path("rooms/r3"), if: .exists(true))]),
      try batch([
        ConiferDocument.Mutation(path("rooms/r4"), .set(["n": 9], []), if: .exists(false)),
        ConiferDocument.Mutation(path("kinds/missing"), .set(["n": 9], []), if: .exists(false)),
      ]),
      try batch([
        .delete(
          path("kinds/all"),
          if: .updateTime(Timestamp(seconds: 1_700_000_000, nanoseconds: 5000)))
      ]),
      try batch([
        .merge(
          path("kinds/" + String(repeating: "long", count: 50) + "1"), [("n", .value(2))],
          in: database)
      ]),
      try batch([.merge(path("kinds/large"), [("n", .increment(1))], in: database)]),
    ]
    return lanes.flatMap { lane in batches.map { StorageEdit.enqueue(lane, $0) } }
  }

  /// Writes that wait in several collections with one id.
  private static func groups() throws -> [[StorageEdit]] {
    let long = String(repeating: "long", count: 50)
    let paths = ["rooms/r1/messages/m1", "kinds/all/messages/m2", "\(long)/r/messages/m3"]
    let mutations = try paths.map {
      ConiferDocument.Mutation(try path($0), .set(["text": "waits"], []))
    }
    return [[.enqueue(lanes[0], try batch(mutations))]]
  }

  /// What becomes of some of the writes, and the server's word with it.
  private static func ends() throws -> [[StorageEdit]] {
    func id(_ number: UInt64) -> WriteID { WriteID(rawValue: number) }
    let zoe = lanes[1]
    return [
      [
        .setState(zoe, id(1), .sent), .finish(zoe, id(1), .acknowledged),
        .documents(
          tree,
          [
            .put(
              Document(
                try path("rooms/new"), .found(["n": 1, "tags": [1]]),
                version: try Timestamp(seconds: 1_700_000_200), writes: .committed))
          ]),
        .setState(zoe, id(2), .sent), .setState(zoe, id(3), .sent),
        .setState(zoe, id(3), .outcomeUnknown), .setState(zoe, id(5), .sent),
        .setState(zoe, id(5), .rejected(reason: "not allowed")), .finish(zoe, id(4), .discarded),
        .finish(zoe, id(7), .superseded(by: id(8))),
      ],
      [
        .documents(
          tree,
          [
            .put(Document(try path("rooms/r5"), .missing)), .forget(try path("rooms/r6")),
            .updateMatches(
              QueryID(rawValue: 1), added: [try path("rooms/r3")],
              removed: [try path("rooms/r2")]),
          ])
      ],
    ]
  }
}
