import ConiferDocument
import ConiferDocumentServer
import ConiferServerHTTP
import Testing

/// Transactions that requests begin.
@Suite struct DocumentRESTTransactionTests {
  private static let ofRooms = #""structuredQuery":{"from":[{"collectionId":"r"}]}"#

  private static func begin(_ client: DocumentRESTClient, _ body: String = "") async -> String {
    let reply = await client.ask("POST :beginTransaction", body)
    #expect(reply.status == 200, "\(reply.body)")
    return DocumentRESTClient.text("transaction", reply)
  }

  private static func set(_ path: String, _ transaction: String) -> String {
    #"{"transaction":"\#(transaction)","writes":[{"update":{"name":"~/\#(path)","fields":{"by":{"stringValue":"t"}}}}]}"#
  }

  /// What is read in a transaction, and what is written by somebody else before it commits.
  enum Clash: String, CaseIterable, Sendable {
    case document, missing, deleted, query, queryNew, queryLeft, aggregate, list, batch

    var read: (line: String, body: String) {
      let members = #"{"transaction":"$","#
      return switch self {
      case .document, .deleted: ("GET /r/a?transaction=$", "")
      case .missing: ("GET /r/none?transaction=$", "")
      case .query, .queryNew: ("POST :runQuery", members + ofRooms + "}")
      case .queryLeft:
        (
          "POST :runQuery",
          members
            + #""structuredQuery":{"from":[{"collectionId":"r"}],"where":{"fieldFilter":{"field":{"fieldPath":"n"},"op":"EQUAL","value":{"integerValue":"1"}}}}}"#
        )
      case .aggregate:
        (
          "POST :runAggregationQuery",
          members
            + #""structuredAggregationQuery":{\#(ofRooms),"aggregations":[{"count":{}}]}}"#
        )
      case .list: ("GET /r?transaction=$", "")
      case .batch: ("POST :batchGet", members + #""documents":["~/r/a","~/r/none"]}"#)
      }
    }

    var change: String {
      switch self {
      case .document, .query, .queryLeft, .list: "PATCH /r/a"
      case .missing, .batch: "PATCH /r/none"
      case .deleted: "DELETE /r/a"
      case .queryNew, .aggregate: "PATCH /r/new"
      }
    }
  }

  @Test(
    "A transaction is made only while what it read is as it was",
    arguments: DocumentTestStore.allCases, Clash.allCases)
  func conflicts(_ store: DocumentTestStore, _ clash: Clash) async throws {
    let client = try DocumentRESTClient(store)
    try await client.make(["r/a": ["n": 1], "r/b": ["n": 2], "other/a": ["n": 1]])
    for isClashing in [false, true] {
      let transaction = await Self.begin(client)
      let encoded = transaction.replacing("+", with: "%2B").replacing("/", with: "%2F")
      let line = clash.read.line.replacing("$", with: encoded)
      let read = await client.ask(line, clash.read.body.replacing("$", with: transaction))
      #expect(read.status == (clash == .missing ? 404 : 200), "\(read.body)")
      let other = await client.ask(isClashing ? clash.change : "PATCH /other/a", "")
      #expect(other.status == 200, "\(other.body)")
      let commit = Self.set("out/x", transaction)
      if isClashing {
        await client.refuses("POST :commit", commit, 409, "ABORTED", "Run the transaction again")
      } else {
        let made = await client.ask("POST :commit", commit)
        #expect(made.status == 200, "\(made.body)")
        #expect(await client.ask("DELETE /out/x").status == 200)
      }
      // It has ended either way.
      await client.refuses("POST :commit", commit, 400, "INVALID_ARGUMENT", "has ended")
    }
    await client.refuses("GET /out/x", 404, "NOT_FOUND")
  }

  @Test(
    "Of transactions that read the same at once, one is made",
    arguments: [
      ("batchGet", #""documents":["~/r/n"]"#), ("runQuery", ofRooms),
    ])
  func race(_ verb: String, _ members: String) async throws {
    let client = try DocumentRESTClient()
    try await client.make(["r/n": ["n": 0]])
    var transactions: [String] = []
    for _ in 0..<8 {
      let reply = await client.ask(
        "POST :\(verb)", #"{\#(members),"newTransaction":{"readWrite":{}}}"#)
      #expect(reply.body.hasPrefix(#"[{"transaction":""#))
      #expect(reply.body.contains("documents/r/n"))
      transactions.append(DocumentRESTClient.text("transaction", reply))
    }
    let statuses = await withTaskGroup(of: Int.self) { group in
      for transaction in transactions {
        group.addTask { await client.ask("POST :commit", Self.set("r/n", transaction)).status }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses.sorted() == [200] + Array(repeating: 409, count: 7))
  }

  @Test(
    "Increments of eight at once, each tried again, add up", arguments: DocumentTestStore.allCases)
  func increments(_ store: DocumentTestStore) async throws {
    let client = try DocumentRESTClient(store)
    try await client.make(["r/n": ["n": 0]])
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<10 {
            while true {
              let read = await client.ask(
                "POST :batchGet", #"{"documents":["~/r/n"],"newTransaction":{}}"#)
              let transaction = DocumentRESTClient.text("transaction", read)
              let number = Int(DocumentRESTClient.text("integerValue", read)) ?? -1000
              let reply = await client.ask(
                "POST :commit",
                #"{"transaction":"\#(transaction)","writes":[{"update":{"name":"~/r/n","fields":{"n":{"integerValue":"\#(number + 1)"}}}}]}"#
              )
              if reply.status != 409 {
                #expect(reply.status == 200, "\(reply.body)")
                break
              }
            }
          }
        }
      }
    }
    #expect(await client.ask("GET /r/n").body.contains(#""integerValue":"80""#))
  }

  @Test("A transaction ends by a rollback, by its age, and when nothing comes for too long")
  func ends() async throws {
    let client = try DocumentRESTClient()
    let gone = await Self.begin(client)
    await client.expect("POST :rollback", #"{"transaction":"\#(gone)"}"#, "{}")
    await client.expect("POST :rollback", #"{"transaction":"\#(gone)"}"#, "{}")
    await client.refuses("POST :commit", Self.set("r/a", gone), 400, "INVALID_ARGUMENT", "expired")
    let idle = await Self.begin(client)
    client.wait(seconds: 61)
    await client.refuses("POST :commit", Self.set("r/a", idle), 400, "INVALID_ARGUMENT", "expired")
    let old = await Self.begin(client)
    for _ in 0..<5 {
      client.wait(seconds: 50)
      let reply = await client.ask("POST :batchGet", #"{"documents":[],"transaction":"\#(old)"}"#)
      #expect(reply.status == 200, "\(reply.body)")
    }
    client.wait(seconds: 21)
    await client.refuses("POST :commit", Self.set("r/a", old), 400, "INVALID_ARGUMENT", "expired")
    let kept = await Self.begin(client)
    client.wait(seconds: 60)
    #expect(await client.ask("POST :commit", Self.set("r/a", kept)).status == 200)
    // Of another database nobody knows it.
    let here = await Self.begin(client)
    let body = #"{"transaction":"\#(here)"}"#
    let root = "projects/p/databases/two/documents"
    #expect(await client.ask("POST :commit", body, in: root).status == 400)
    #expect(await client.ask("POST :rollback", body, in: root).status == 200)
    #expect(await client.ask("POST :commit", body).status == 200)
  }

  @Test("Only so many are open, and each reads only so much")
  func bounds() async throws {
    var bounds = DocumentServerBounds()
    bounds.transactions.count = 3
    bounds.transactions.reads = 4
    let client = try DocumentRESTClient(bounds: bounds)
    let first = await Self.begin(client)
    for _ in 0..<2 { _ = await Self.begin(client) }
    await client.refuses("POST :beginTransaction", 429, "RESOURCE_EXHAUSTED", "3 transactions")
    await client.refuses(
      "POST :runQuery", #"{"newTransaction":{},\#(Self.ofRooms)}"#, 429, "RESOURCE_EXHAUSTED")
    await client.expect("POST :rollback", #"{"transaction":"\#(first)"}"#, "{}")
    let names = (0..<5).map { #""~/r/\#($0)""# }.joined(separator: ",")
    await client.refuses(
      "POST :batchGet", #"{"documents":[\#(names)],"newTransaction":{}}"#, 429,
      "RESOURCE_EXHAUSTED", "Read less")
    // What was refused is not left open, and what has expired makes room.
    _ = await Self.begin(client)
    client.wait(seconds: 61)
    for _ in 0..<3 { _ = await Self.begin(client) }
  }

  @Test("A transaction that only reads writes nothing, and the past is not kept")
  func readOnly() async throws {
    let client = try DocumentRESTClient()
    try await client.make(["r/a": ["n": 1]])
    let reading = await Self.begin(client, #"{"options":{"readOnly":{}}}"#)
    await client.refuses(
      "POST :commit", Self.set("r/b", reading), 400, "INVALID_ARGUMENT", "only reads")
    let now = "2023-11-14T22:13:21Z"
    client.wait(seconds: 5)
    let past = await Self.begin(client, #"{"options":{"readOnly":{"readTime":"\#(now)"}}}"#)
    let members = #"{"documents":["~/r/a"],"transaction":"\#(past)"}"#
    #expect(await client.ask("POST :batchGet", members).status == 200)
    #expect(await client.ask("GET /r/a?readTime=\(now)").status == 200)
    await client.refuses(
      "GET /r/a?readTime=2023-11-14T22:13:20Z", 400, "FAILED_PRECONDITION", "The past is not kept")
    await client.refuses(
      "GET /r/a?readTime=2033-11-14T22:13:20Z", 400, "INVALID_ARGUMENT", "future")
    try await client.make(["r/b": [:]])
    await client.refuses("POST :batchGet", members, 400, "FAILED_PRECONDITION", "past")
    await client.refuses(
      "POST :runQuery", #"{"readTime":"\#(now)",\#(Self.ofRooms)}"#, 400, "FAILED_PRECONDITION")
  }

  @Test("A transaction whose changes are no longer remembered is run again")
  func history() async throws {
    let client = try DocumentRESTClient(history: DocumentHistoryLimits(changes: 2))
    let reply = await client.ask("POST :runQuery", #"{"newTransaction":{},\#(Self.ofRooms)}"#)
    let transaction = DocumentRESTClient.text("transaction", reply)
    for number in 0..<5 { try await client.make(["other/\(number)": [:]]) }
    await client.refuses(
      "POST :commit", Self.set("out/x", transaction), 409, "ABORTED", "Run it again")
  }
}
