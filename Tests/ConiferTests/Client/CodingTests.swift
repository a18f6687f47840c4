import ConiferTree
import Foundation
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

  func encoded(_ value: some Encodable) throws -> Node {
    try ValueReader.node(NodeEncoder().encode(value), at: "a")
  }

  func decoded<Value: Decodable>(_ type: Value.Type, _ node: Node) throws -> Value {
    try NodeDecoder().decode(type, from: node)
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

  @Test func `dates are milliseconds, data base64, addresses texts`() throws {
    let date = Date(timeIntervalSince1970: 1_700_000_000.125)
    #expect(try encoded(date) == 1_700_000_000_125)
    #expect(try decoded(Date.self, 1_700_000_000_125) == date)
    #expect(try encoded(Data([1, 2, 3])) == "AQID")
    #expect(try decoded(Data.self, "AQID") == Data([1, 2, 3]))
    let url = try #require(URL(string: "https://example.com/a"))
    #expect(try encoded(url) == "https://example.com/a")
    #expect(try decoded(URL.self, "https://example.com/a") == url)
    #expect(try decoded(Decimal.self, try encoded(Decimal(2.5))) == 2.5)
    #expect(throws: DatabaseError.self) { try decoded(Data.self, "%") }
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
    let writes = try bench.engine.recorded.writes.compactMap(\.asSet)
    #expect(writes.count == 2)
    #expect(try DataSnapshot(bench.root, writes[0].node).data(as: Post.self) == post)
    let data = MutableData(.empty, at: "a")
    #expect(try data.data(as: Post.self) == nil)
    try data.set(from: post)
    #expect(try data.data(as: Post.self) == post)
    #expect(await failure { try await bench.root.setValue(from: Double.infinity) }?.code == .coding)
  }
}
