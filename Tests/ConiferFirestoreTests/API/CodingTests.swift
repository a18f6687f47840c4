import ConiferDocument
import Foundation
import Testing

@testable import ConiferFirestore

/// A type that encodes itself as a closure says.
struct Odd: Encodable {
  let body: @Sendable (any Encoder) throws -> Void
  func encode(to encoder: any Encoder) throws { try body(encoder) }
}

private struct Name: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }
  init(_ name: String) { stringValue = name }
  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

extension Odd {
  /// Types of which a part would be lost.
  static let torn: [(Odd, String)] = [
    (
      Odd { encoder in
        var keys = encoder.container(keyedBy: Name.self)
        try keys.encode(1, forKey: Name("\u{E9}"))
        try keys.encode(2, forKey: Name("e\u{301}"))
      }, "normal forms"
    ),
    (
      Odd { encoder in
        var keys = encoder.container(keyedBy: Name.self)
        var values = encoder.unkeyedContainer()
        try values.encode(1)
        try keys.encode(2, forKey: Name("a"))
      }, "several kinds"
    ),
    (
      Odd { encoder in
        var keys = encoder.container(keyedBy: Name.self)
        try keys.encode(2, forKey: Name("a"))
        var value = encoder.singleValueContainer()
        try value.encode(1)
      }, "several kinds"
    ),
    (
      Odd { encoder in
        var value = encoder.singleValueContainer()
        try value.encode(1)
        var keys = encoder.container(keyedBy: Name.self)
        try keys.encode(2, forKey: Name("a"))
      }, "several kinds"
    ),
  ]
}

@Suite("Codable")
struct CodingTests {
  let world = Recorded()
  var document: DocumentReference { world.firestore.document("rooms/eros") }

  struct Room: Codable, Equatable {
    enum Kind: String, Codable { case cave, hall }
    struct Place: Codable, Equatable {
      var floor: Int
      var wing: String?
    }

    @DocumentID var id: String?
    var name: String
    var size: Int
    var ratio: Double
    var isOpen: Bool
    var kind: Kind
    var place: Place
    var tags: [String]
    var counts: [String: Int8]
    var built: Date
    var seal: Data
    var time: Timestamp
    var point: GeoPoint
    var vector: VectorValue
    var owner: DocumentReference
    var link: URL
    var nothing: String?
    @ExplicitNull var null: Int?
    @ServerTimestamp var sent: Date?
  }

  private func room() throws -> Room {
    Room(
      name: "Eros", size: 3, ratio: 2, isOpen: true, kind: .cave, place: .init(floor: 1, wing: nil),
      tags: ["a", "b"], counts: ["x": -1], built: Date(timeIntervalSince1970: 1.5),
      seal: Data([1, 2]), time: Timestamp(seconds: 4, nanoseconds: 5000),
      point: GeoPoint(latitude: 1, longitude: 2), vector: VectorValue([1, 2]),
      owner: world.firestore.document("people/anna"),
      link: try #require(URL(string: "https://example.com/a")))
  }

  // The types are no arguments: the test library would encode them.
  @Test("A type of which a part would be lost is refused", arguments: Odd.torn.indices)
  func torn(index: Int) throws {
    let (type, words) = Odd.torn[index]
    let error = #expect(throws: FirestoreError.self) {
      try Firestore.Encoder().encode(["at": type])
    }
    #expect(error?.code == .invalidArgument)
    #expect(
      error.map { "\($0)".contains(words) && "\($0)".contains("at") } == true, "\(error as Any)")
  }

  @Test("A key that is encoded twice has its last value, and an empty container is none")
  func repeated() throws {
    let type = Odd { encoder in
      _ = encoder.unkeyedContainer()
      var keys = encoder.container(keyedBy: Name.self)
      try keys.encode(1, forKey: Name("a"))
      var more = encoder.container(keyedBy: Name.self)
      try more.encode(2, forKey: Name("a"))
      try more.encode(3, forKey: Name("b"))
    }
    #expect(try Firestore.Encoder().encode(type) as? [String: Int] == ["a": 2, "b": 3])
  }

  @Test("A type is a document's fields, and is read from them again")
  func roundTrip() throws {
    let room = try room()
    try document.setData(from: room)
    guard case .set(let fields, let transforms)? = world.engine.writes.last?.first?.change else {
      Issue.record("Nothing was set.")
      return
    }
    let owner = DocumentName(try DocumentPath("people/anna"), in: world.database)
    let expected: MapValue = [
      "name": "Eros", "size": 3, "ratio": 2.0, "isOpen": true, "kind": "cave",
      "place": ["floor": 1], "tags": ["a", "b"], "counts": ["x": -1],
      "built": .timestamp(try .init(seconds: 1, nanoseconds: 500_000_000)),
      "seal": .bytes([1, 2]), "time": .timestamp(try .init(seconds: 4, nanoseconds: 5000)),
      "point": .geoPoint(try .init(latitude: 1, longitude: 2)), "vector": .vector([1, 2]),
      "owner": .reference(owner), "link": "https://example.com/a", "null": nil,
    ]
    #expect(fields == expected)
    let sent = try ConiferDocument.FieldPath(dotted: "sent")
    #expect(transforms == [FieldTransform(sent, .serverTimestamp)])
    let written = try ConiferDocument.Timestamp(seconds: 9)
    var stored = fields
    stored["sent"] = .serverTimestamp(written: written, previous: nil)
    let snapshot = try world.snapshot("rooms/eros", stored)
    var read = try snapshot.data(as: Room.self)
    #expect(read.id == "eros" && read.sent == nil)
    read.id = nil
    #expect(read == room)
    let estimated = try snapshot.data(as: Room.self, with: .estimate)
    #expect(estimated.sent == Date(timeIntervalSince1970: 9))
  }

  @Test("A missing document is nil for an optional type, and an error for another")
  func missing() throws {
    let snapshot = try world.snapshot("rooms/eros", nil)
    #expect(try snapshot.data(as: Room?.self) == nil)
    #expect(throws: FirestoreError.self) { try snapshot.data(as: Room.self) }
  }

  @Test("A document is read and decoded at once")
  func get() async throws {
    let path = try DocumentPath("rooms/eros")
    world.engine.answer {
      $0.got = .success(
        GotDocument(document: Document(path, .found(["n": 3])), isFromCache: true))
    }
    #expect(try await document.getDocument(as: Small.self).n == 3)
    let told = Told<Small>()
    document.getDocument(as: Small.self, source: .cache) { result in
      told.add(try? result.get(), nil)
    }
    #expect(told.values.map(\.n) == [3])
    world.engine.answer { $0.got = .failure(FirestoreError(.unavailable, "Offline.")) }
    await #expect(throws: FirestoreError.self) {
      try await document.getDocument(as: Small.self)
    }
  }

  struct Small: Codable, Equatable, Sendable {
    @DocumentID var ref: DocumentReference?
    var n: Int?
    @ExplicitNull var text: String?
    @ServerTimestamp var at: Timestamp?
  }

  @Test("Wrapped properties may be absent, and a DocumentID may be a reference")
  func wrappers() throws {
    let read = try world.snapshot("rooms/eros", ["n": nil]).data(as: Small.self)
    #expect(read == Small(ref: document, n: nil, text: nil, at: nil))
    let data = try Firestore.Encoder().encode(Small(ref: document, n: 1, text: "x", at: nil))
    #expect(Set(data.keys) == ["n", "text", "at"])
    #expect(data["at"] as? FieldValue == .serverTimestamp())
    #expect(throws: FirestoreError.self) {
      try world.snapshot("rooms/eros", ["ref": 1]).data(as: Small.self)
    }
  }

  struct Numbers: Codable { var n: UInt8 }

  @Test(
    "A value that does not fit is told with its place",
    arguments: [256, -1, 1.5, "1", nil, true] as [DocumentValue])
  func misfits(value: DocumentValue) throws {
    let snapshot = try world.snapshot("rooms/eros", ["n": value])
    do {
      _ = try snapshot.data(as: Numbers.self)
      Issue.record("\(value) was read")
    } catch {
      #expect(error.code == .invalidArgument && error.message.contains("'n'"), "\(error.message)")
    }
    #expect(try world.snapshot("rooms/eros", ["n": 255.0]).data(as: Numbers.self).n == 255)
  }

  struct Times: Codable, Equatable {
    var startTime: Date
    var rawData: Data
  }

  @Test("Dates, bytes and names take the form that coders are told")
  func strategies() throws {
    let times = Times(startTime: Date(timeIntervalSince1970: 1000), rawData: Data([1, 2]))
    let (encoder, decoder) = (Firestore.Encoder(), Firestore.Decoder())
    func check(_ expected: [String: Any], _ location: SourceLocation = #_sourceLocation) throws {
      let data = try encoder.encode(times)
      #expect(
        NSDictionary(dictionary: data) == NSDictionary(dictionary: expected),
        sourceLocation: location)
      #expect(try decoder.decode(Times.self, from: data) == times, sourceLocation: location)
    }
    encoder.keyEncodingStrategy = .convertToSnakeCase
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    (encoder.dateEncodingStrategy, decoder.dateDecodingStrategy) = (
      .secondsSince1970, .secondsSince1970
    )
    (encoder.dataEncodingStrategy, decoder.dataDecodingStrategy) = (.base64, .base64)
    try check(["start_time": 1000.0, "raw_data": "AQI="])
    (encoder.dateEncodingStrategy, decoder.dateDecodingStrategy) = (
      .millisecondsSince1970, .millisecondsSince1970
    )
    (encoder.dataEncodingStrategy, decoder.dataDecodingStrategy) = (
      .deferredToData, .deferredToData
    )
    try check(["start_time": 1_000_000.0, "raw_data": [1, 2]])
    (encoder.dateEncodingStrategy, decoder.dateDecodingStrategy) = (.iso8601, .iso8601)
    encoder.keyEncodingStrategy = .custom {
      AnyCodingKey(stringValue: "x-" + ($0.last?.stringValue ?? ""))
    }
    decoder.keyDecodingStrategy = .custom {
      AnyCodingKey(stringValue: String($0.last?.stringValue.dropFirst(2) ?? ""))
    }
    try check(["x-startTime": "1970-01-01T00:16:40Z", "x-rawData": [1, 2]])
    (encoder.dateEncodingStrategy, decoder.dateDecodingStrategy) = (
      .deferredToDate, .deferredToDate
    )
    try check(["x-startTime": times.startTime.timeIntervalSinceReferenceDate, "x-rawData": [1, 2]])
    encoder.dateEncodingStrategy = .custom { date, encoder in
      var container = encoder.singleValueContainer()
      try container.encode("\(Int(date.timeIntervalSince1970))")
    }
    decoder.dateDecodingStrategy = .custom { decoder in
      Date(
        timeIntervalSince1970: Double(try decoder.singleValueContainer().decode(String.self)) ?? 0)
    }
    try check(["x-startTime": "1000", "x-rawData": [1, 2]])
  }

  struct Votes: Codable, Equatable {
    var byUser: [String: Int]
    var perDay: [String: [Times]]
    var ofNobody: [String: Int]?
  }

  @Test("The keys of a dictionary are data, which no strategy for names changes")
  func dictionaries() throws {
    let times = Times(startTime: Date(timeIntervalSince1970: 1000), rawData: Data([1, 2]))
    let votes = Votes(
      byUser: ["userA": 1, "user_a": 2, "Ab_cd": 3], perDay: ["dayOne": [times]],
      ofNobody: ["aB": 4])
    let (encoder, decoder) = (Firestore.Encoder(), Firestore.Decoder())
    encoder.keyEncodingStrategy = .convertToSnakeCase
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let data = try encoder.encode(votes)
    #expect(data["by_user"] as? [String: Int] == votes.byUser)
    #expect(data["of_nobody"] as? [String: Int] == votes.ofNobody)
    let days = try #require(data["per_day"] as? [String: [[String: Any]]])
    #expect(Set(try #require(days["dayOne"]?.first).keys) == ["start_time", "raw_data"])
    #expect(try decoder.decode(Votes.self, from: data) == votes)
    encoder.keyEncodingStrategy = .custom { _ in AnyCodingKey(stringValue: "same") }
    #expect(try encoder.encode(["a": 1, "b": 2]) as? [String: Int] == ["a": 1, "b": 2])
  }

  @Test(
    "Names in snake case",
    arguments: [
      ("roomName", "room_name"), ("a", "a"), ("myURLPath", "my_url_path"), ("_aB", "_a_b"),
      ("name2Go", "name2_go"),
    ])
  func snakeCase(camel: String, snake: String) {
    #expect(SnakeCase.from(camel) == snake)
    if !camel.contains("URL") { #expect(SnakeCase.toCamel(snake) == camel) }
  }

  @Test("Batches, transactions, merges and added documents take types")
  func writes() async throws {
    let small = Small(ref: nil, n: 1, text: nil, at: Timestamp(seconds: 1, nanoseconds: 0))
    let added = try world.firestore.collection("rooms").addDocument(from: small)
    #expect(world.engine.writes.last?.first?.path.description == added.path)
    try document.setData(from: small, merge: true)
    try document.setData(from: small, mergeFields: ["n"])
    try world.firestore.batch().setData(from: small, forDocument: document).enqueue()
    document.enqueue(.set(from: small, merge: true))
    #expect(world.engine.writes.count == 5)
    let document = document
    try await world.firestore.runTransaction {
      try $0.setData(from: small, forDocument: document, merge: true)
    }
    #expect(world.engine.answer { $0.commits.count } == 1)
  }

  @Test("What has no keys, or numbers that do not fit, cannot be encoded")
  func unencodable() throws {
    #expect(throws: FirestoreError.self) { try document.setData(from: 3) }
    #expect(throws: FirestoreError.self) { try document.setData(from: ["a": UInt64.max]) }
    let ends = Ends()
    _ = document.enqueue(.set(from: [1, 2]), ends.add)
    #expect(ends.all == [.invalidArgument])
    #expect(throws: (any Error).self) { try JSONEncoder().encode(["a": document]) }
    #expect(world.engine.writes.isEmpty)
  }

  indirect enum Tree: Codable, Equatable {
    case leaf(Int)
    case node([Tree])
  }
  class Base: Codable { var a = 1 }
  final class Derived: Base {
    var b = 2
    override init() { super.init() }
    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Keys.self)
      b = try container.decode(Int.self, forKey: .b)
      try super.init(from: container.superDecoder())
    }
    enum Keys: CodingKey { case b }
    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode(b, forKey: .b)
      try super.encode(to: container.superEncoder())
    }
  }

  @Test("Enums with values, arrays of maps and classes are coded as the standard library does")
  func shapes() throws {
    let tree = ["t": Tree.node([.leaf(1), .node([])])]
    let data = try Firestore.Encoder().encode(tree)
    #expect(try Firestore.Decoder().decode([String: Tree].self, from: data) == tree)
    #expect(try world.set(data) != nil)
    let derived = Derived()
    (derived.a, derived.b) = (5, 6)
    let fields = try Firestore.Encoder().encode(derived)
    let read = try Firestore.Decoder().decode(Derived.self, from: fields)
    #expect(read.a == 5 && read.b == 6)
  }
}
