import ConiferTree
import Foundation
import TestSupport
import Testing

@testable import Conifer

@Suite struct `Coding` {
  struct Post: Codable, Equatable, Sendable {
    enum Mood: String, Codable { case glad, sad }
    struct Author: Codable, Equatable { var name: String }

    var title: String
    var stars: Int = 0
    var ratio: Double?
    var isOpen = true
    var author: Author?
    var mood = Mood.glad
    var tags: [String] = []
    var votes: [String: Int] = [:]
  }

  let encoder = Database.Encoder()
  let decoder = Database.Decoder()

  func encoded(_ value: some Encodable) throws -> Node {
    try ValueReader.node(encoder.encode(value), at: "a")
  }

  func decoded<Value: Decodable>(_ type: Value.Type, _ node: Node) throws -> Value {
    try decoder.decode(type, from: node)
  }

  @Test func `an element that cannot be decoded stays the next one, and holes are passed over`()
    throws
  {
    struct Mixed: Decodable {
      var numbers: [Int] = []
      var texts: [String] = []

      init(from decoder: any Decoder) throws {
        var values = try decoder.unkeyedContainer()
        while !values.isAtEnd {
          if let number = try? values.decode(Int.self) {
            numbers.append(number)
          } else {
            texts.append(try values.decode(String.self))
          }
        }
        #expect(throws: DecodingError.self) { try values.decode(Int.self) }
      }
    }
    let mixed = try decoded(Mixed.self, ["0": "a", "1": 1, "3": "b", "4": 2, "5": "c"])
    #expect(mixed.numbers == [1, 2] && mixed.texts == ["a", "b", "c"])
  }

  @Test func `a value comes back as it was`() throws {
    let posts = [
      Post(title: "A"),
      Post(
        title: "B", stars: -3, ratio: 0.25, isOpen: false, author: .init(name: "ada"), mood: .sad,
        tags: ["x", "y"], votes: ["u1": 1, "u2": -1]),
    ]
    for post in posts { #expect(try decoded(Post.self, try encoded(post)) == post) }
    #expect(try decoded([Post].self, try encoded(posts)) == posts)
    #expect(try decoded([String: Post].self, try encoded(["a": posts[1]])) == ["a": posts[1]])
  }

  @Test func `a value is encoded as setValue would take it`() throws {
    let node = try encoded(Post(title: "A", ratio: 2, tags: ["x"]))
    #expect(
      node == [
        "title": "A", "stars": 0, "ratio": 2, "isOpen": true, "mood": "glad",
        "tags": ["0": "x"],
      ])
  }

  @Test func `numbers decode as any type that holds them`() throws {
    #expect(try decoded(Double.self, 5) == 5)
    #expect(try decoded(Float.self, 0.5) == 0.5)
    #expect(try decoded(Int.self, Node(.double(5))) == 5)
    #expect(try decoded(UInt8.self, 255) == 255)
    #expect(try decoded(Int64.self, Node(.integer(.min))) == .min)
    #expect(throws: DatabaseError.self) { try decoded(Int.self, 5.5) }
    #expect(throws: DatabaseError.self) { try decoded(UInt8.self, 256) }
    #expect(throws: DatabaseError.self) { try decoded(UInt.self, Node(.integer(-1))) }
    #expect(throws: DatabaseError.self) { try decoded(Bool.self, 1) }
    #expect(throws: DatabaseError.self) { try decoded(Int.self, true) }
    #expect(throws: DatabaseError.self) { try decoded(String.self, 1) }
  }

  @Test func `every type of number encodes`() throws {
    #expect(try encoded(UInt8(7)) == 7)
    #expect(try encoded(UInt32.max) == Node(.integer(Int64(UInt32.max))))
    #expect(try encoded(Int64.min) == Node(.integer(.min)))
    #expect(try encoded(Float(0.5)) == 0.5)
    #expect(throws: DatabaseError.self) { try encoded(UInt64.max) }
    #expect(throws: DatabaseError.self) { try encoded(Double.nan) }
  }

  @Test func `an array with holes, and a list of pushed children, decode as arrays`() throws {
    #expect(try decoded([String].self, ["0": "a", "1": "b", "3": "d"]) == ["a", "b", "d"])
    #expect(try decoded([String?].self, ["0": "a", "2": "c"]) == ["a", nil, "c"])
    #expect(try decoded([Int].self, ["-Nb": 2, "-Na": 1, "-Nc": 3]) == [1, 2, 3])
    #expect(try decoded([Int].self, ["7": 1, "2147483647": 2]) == [1, 2])
  }

  @Test func `what is absent is nil, or empty`() throws {
    #expect(try decoded(Post?.self, .empty) == nil)
    #expect(try decoded([Int].self, .empty) == [])
    #expect(try decoded([String: Int].self, .empty) == [:])
    let post = try decoded(Post.self, ["title": "A", "stars": 1, "isOpen": true, "mood": "sad"])
    #expect(post.tags == [])
    #expect(post.author == nil)
  }

  @Test func `an error names the place and the type`() {
    let error = #expect(throws: DatabaseError.self) {
      try decoded([Post].self, ["0": ["title": "A", "stars": "many"]])
    }
    #expect(error?.code == .coding)
    #expect(error?.message.contains("0/stars") == true)
    #expect(error?.message.contains("Int") == true)
    let missing = #expect(throws: DatabaseError.self) { try decoded(Post.self, ["stars": 1]) }
    #expect(missing?.message.contains("title") == true)
  }

  @Test func `dates are seconds since 2001, data base64, addresses texts`() throws {
    let date = Date(timeIntervalSinceReferenceDate: 700_000_000.125)
    #expect(try encoded(date) == 700_000_000.125)
    #expect(try decoded(Date.self, 700_000_000.125) == date)
    #expect(try encoded(Data([1, 2, 3])) == "AQID")
    #expect(try decoded(Data.self, "AQID") == Data([1, 2, 3]))
    let url = try #require(URL(string: "https://example.com/a"))
    #expect(try encoded(url) == "https://example.com/a")
    #expect(try decoded(URL.self, "https://example.com/a") == url)
    #expect(try decoded(Decimal.self, try encoded(Decimal(2.5))) == 2.5)
    #expect(throws: DatabaseError.self) { try decoded(Data.self, "%") }
  }

  @Test func `dates have the form of the strategy`() throws {
    let date = Date(timeIntervalSince1970: 1_700_000_000)
    encoder.dateEncodingStrategy = .secondsSince1970
    decoder.dateDecodingStrategy = .secondsSince1970
    #expect(try encoded(date) == 1_700_000_000)
    #expect(try decoded(Date.self, 1_700_000_000) == date)
    encoder.dateEncodingStrategy = .millisecondsSince1970
    decoder.dateDecodingStrategy = .millisecondsSince1970
    #expect(try encoded(date) == 1_700_000_000_000)
    #expect(try decoded(Date.self, 1_700_000_000_000) == date)
    encoder.dateEncodingStrategy = .iso8601
    decoder.dateDecodingStrategy = .iso8601
    #expect(try encoded(["d": date]) == ["d": "2023-11-14T22:13:20Z"])
    #expect(try decoded([Date].self, ["0": "2023-11-14T22:13:20Z"]) == [date])
    #expect(throws: DatabaseError.self) { try decoded(Date.self, "yesterday") }
    let year = DateFormatter()
    year.dateFormat = "yyyy"
    year.timeZone = TimeZone(secondsFromGMT: 0)
    encoder.dateEncodingStrategy = .formatted(year)
    decoder.dateDecodingStrategy = .formatted(year)
    #expect(try encoded(date) == "2023")
    #expect(try decoded(Date.self, "1970") == Date(timeIntervalSince1970: 0))
    encoder.dateEncodingStrategy = .custom { date, encoder in
      var container = encoder.singleValueContainer()
      try container.encode("\(Int(date.timeIntervalSince1970))")
    }
    decoder.dateDecodingStrategy = .custom { decoder in
      let text = try decoder.singleValueContainer().decode(String.self)
      return Date(timeIntervalSince1970: Double(text) ?? 0)
    }
    #expect(try encoded(date) == "1700000000")
    #expect(try decoded(Date.self, "1700000000") == date)
  }

  @Test func `data has the form of the strategy`() throws {
    let data = Data([1, 0, 3])
    encoder.dataEncodingStrategy = .deferredToData
    decoder.dataDecodingStrategy = .deferredToData
    #expect(try encoded(data) == ["0": 1, "1": 0, "2": 3])
    #expect(try decoded(Data.self, ["0": 1, "1": 0, "2": 3]) == data)
    encoder.dataEncodingStrategy = .custom { data, encoder in
      var container = encoder.singleValueContainer()
      try container.encode(data.count)
    }
    decoder.dataDecodingStrategy = .custom { decoder in
      Data(count: try decoder.singleValueContainer().decode(Int.self))
    }
    #expect(try encoded(data) == 3)
    #expect(try decoded(Data.self, 2) == Data([0, 0]))
  }

  @Test func `numbers that are not finite have the strings of the strategy`() throws {
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "+", negativeInfinity: "-", nan: "?")
    #expect(throws: DatabaseError.self) { try decoded(Double.self, "+") }
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "+", negativeInfinity: "-", nan: "?")
    let numbers: [Float] = [.infinity, -.infinity, .nan, 0.5]
    #expect(try encoded(numbers) == ["0": "+", "1": "-", "2": "?", "3": 0.5])
    #expect(try decoded(Double.self, "+") == .infinity)
    #expect(try decoded(Float.self, "-") == -.infinity)
    #expect(try decoded(Double.self, "?").isNaN)
    #expect(try decoded(Double.self, 0.5) == 0.5)
    #expect(throws: DatabaseError.self) { try decoded(Double.self, "1") }
  }

  struct Named: Codable, Equatable {
    var roomName: String
    var seatCounts: [String: Int]
  }

  @Test func `keys have the form of the strategy, but for those of dictionaries`() throws {
    let room = Named(roomName: "Attic", seatCounts: ["leftSide": 2])
    encoder.keyEncodingStrategy = .convertToSnakeCase
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let snake: Node = ["room_name": "Attic", "seat_counts": ["leftSide": 2]]
    #expect(try encoded(room) == snake)
    #expect(try decoded(Named.self, snake) == room)
    encoder.keyEncodingStrategy = .custom { path in
      CodingKeyText("\(path.count)-\(path.last?.stringValue ?? "")")
    }
    decoder.keyDecodingStrategy = .custom { path in
      CodingKeyText(String((path.last?.stringValue ?? "").dropFirst(2)))
    }
    let custom: Node = ["1-roomName": "Attic", "1-seatCounts": ["leftSide": 2]]
    #expect(try encoded(room) == custom)
    #expect(try decoded(Named.self, custom) == room)
    // The server's placeholder is no key of the type.
    #expect(try encoded(Message(text: "hi"))[Key("1-sent")].leaf == .serverValue(.timestamp))
  }

  /// A key of any text.
  struct CodingKeyText: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ text: String) { stringValue = text }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { return nil }
  }

  @Test func `what types are told reaches them, in both directions`() throws {
    struct Told: Codable {
      static let key = CodingUserInfoKey(rawValue: "told")
      var word: String

      init() { word = "" }
      init(from decoder: any Decoder) throws {
        word = Self.key.flatMap { decoder.userInfo[$0] as? String } ?? "none"
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Self.key.flatMap { encoder.userInfo[$0] as? String } ?? "none")
      }
    }
    let key = try #require(Told.key)
    encoder.userInfo[key] = "out"
    decoder.userInfo[key] = "in"
    #expect(try encoded(Told()) == "out")
    #expect(try decoded(Told.self, "x").word == "in")
  }

  @Test func `plain data decodes as a node does`() throws {
    let data: [String: Any] = ["title": "A", "stars": 2, "isOpen": true, "mood": "sad"]
    #expect(try decoder.decode(Post.self, from: data).stars == 2)
    #expect(try decoder.decode(Int?.self, from: NSNull()) == nil)
    let error = #expect(throws: DatabaseError.self) { try decoder.decode(Int.self, from: Date()) }
    #expect(error?.code == .coding)
  }

  struct Message: Codable, Equatable {
    var text: String
    @ServerTimestamp var sent: Date?
  }

  @Test func `the server fills in a time`() throws {
    let node = try encoded(Message(text: "hi"))
    #expect(node[Key("sent")].leaf == .serverValue(.timestamp))
    let read = try decoded(Message.self, ["text": "hi", "sent": 1000])
    #expect(read.sent == Date(timeIntervalSince1970: 1))
    #expect(try encoded(read)[Key("sent")] == 1000)
    encoder.dateEncodingStrategy = .iso8601
    #expect(try encoded(read)[Key("sent")] == 1000)
    #expect(try decoded(Message.self, ["text": "hi"]).sent == nil)
  }

  class Base: Codable {
    var a = 1
  }

  final class Derived: Base {
    var b = 2

    private enum Keys: CodingKey { case b }

    override init() { super.init() }

    required init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: Keys.self)
      b = try container.decode(Int.self, forKey: .b)
      try super.init(from: try container.superDecoder())
    }

    override func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Keys.self)
      try container.encode(b, forKey: .b)
      try super.encode(to: container.superEncoder())
    }
  }

  @Test func `classes code what they inherit`() throws {
    let derived = Derived()
    derived.a = 5
    let node = try encoded(derived)
    #expect(node == ["b": 2, "super": ["a": 5]])
    #expect(try decoded(Derived.self, node).a == 5)
  }

  @Test func `snapshots decode, and references and transactions encode`() async throws {
    let bench = ClientBench()
    let post = Post(title: "A", stars: 2)
    bench.root.child("a").enqueue(.set(from: post))
    try await bench.root.child("a").setValue(from: post)
    try setWithCoders(bench, post)
    let writes = try bench.engine.recorded.writes.compactMap(\.asSet)
    #expect(writes.count == 3)
    #expect(try DataSnapshot(bench.root, writes[0].node).data(as: Post.self) == post)
    let data = MutableData(.empty, at: "a")
    #expect(try data.data(as: Post.self) == nil)
    try data.set(from: post)
    #expect(try data.data(as: Post.self) == post)
    #expect(await failure { try await bench.root.setValue(from: Double.infinity) }?.code == .coding)
  }

  /// The forms of calls that are not async.
  func setWithCoders(_ bench: ClientBench, _ post: Post) throws {
    encoder.keyEncodingStrategy = .convertToSnakeCase
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let told = Gathered<String>()
    try bench.root.setValue(from: post, encoder: encoder) { told.add("\($0 == nil)") }
    let node = try #require(try bench.engine.recorded.writes.last?.asSet).node
    #expect(node[Key("is_open")] == true)
    #expect(try DataSnapshot(bench.root, node).data(as: Post.self, decoder: decoder) == post)
    let error = #expect(throws: DatabaseError.self) {
      try bench.root.setValue(from: Double.nan) { _ in told.add("refused") }
    }
    #expect(error?.code == .coding)
    let data = MutableData(.empty, at: "a")
    try data.set(from: post, encoder: encoder)
    #expect(try data.data(as: Post.self, decoder: decoder) == post)
    #expect(!told.all.contains("refused"))
  }
}
