import ConiferDocument
import ConiferDocumentServer
import ConiferServerHTTP
import Testing

/// The memory that documents take which are read for requests.
@Suite struct DocumentRESTMemoryTests {
  private static let ofRooms = #""structuredQuery":{"from":[{"collectionId":"r"}]}"#

  /// A server with documents of 100 kB each.
  private static func client(
    _ store: DocumentTestStore, read: Int = 1 << 20, reads: Int = 4 << 20, documents: Int = 40
  ) async throws -> DocumentRESTClient {
    var bounds = DocumentServerBounds()
    (bounds.read, bounds.reads) = (read, reads)
    let client = try DocumentRESTClient(store, bounds: bounds)
    let text = String(repeating: "x", count: 100_000)
    for number in 0..<documents {
      let write = Mutation(
        try DocumentPath("r/\(1000 + number)"),
        .set(["text": .string(text), "n": .integer(Int64(number % 7))], []))
      try await client.server.commit([write], in: DatabaseID(project: "p"))
    }
    return client
  }

  @Test(
    "What takes more memory than a request may is refused, and what is small enough is answered",
    arguments: DocumentTestStore.allCases)
  func bound(_ store: DocumentTestStore) async throws {
    let client = try await Self.client(store)
    let names = (1000..<1040).map { #""~/r/\#($0)""# }.joined(separator: ",")
    for (line, body) in [
      ("POST :runQuery", "{\(Self.ofRooms)}"),
      (
        "POST :runQuery",
        #"{"structuredQuery":{"from":[{"collectionId":"r","allDescendants":true}]}}"#
      ),
      (
        "POST :runQuery",
        #"{"structuredQuery":{"from":[{"collectionId":"r"}],"orderBy":[{"field":{"fieldPath":"n"}}]}}"#
      ),
      ("POST :batchGet", #"{"documents":[\#(names)]}"#),
    ] {
      await client.refuses(line, body, 429, "RESOURCE_EXHAUSTED", "Ask for fewer")
      #expect(client.server.readBytes == 0, "\(line)")
    }
    for order in ["", #","orderBy":[{"field":{"fieldPath":"n"},"direction":"DESCENDING"}]"#] {
      let reply = await client.ask(
        "POST :runQuery",
        #"{"structuredQuery":{"from":[{"collectionId":"r"}],"limit":4\#(order)}}"#)
      #expect(reply.body.matches(of: #/"document"/#).count == 4, "\(order)")
    }
    // One document that is asked for many times is one.
    let same = Array(repeating: #""~/r/1000""#, count: 3).joined(separator: ",")
    #expect(
      await client.ask("POST :batchGet", #"{"documents":[\#(same)]}"#).status == 200)
    #expect(client.server.readBytes == 0)
  }

  @Test(
    "Aggregates keep the fields that they need", arguments: DocumentTestStore.allCases,
    [
      (#"{"count":{}}"#, #"{"integerValue":"40"}"#),
      (#"{"sum":{"field":{"fieldPath":"n"}}}"#, #"{"integerValue":"115"}"#),
    ])
  func aggregates(_ store: DocumentTestStore, _ asked: (String, String)) async throws {
    let client = try await Self.client(store)
    let reply = await client.ask(
      "POST :runAggregationQuery",
      #"{"structuredAggregationQuery":{\#(Self.ofRooms),"aggregations":[\#(asked.0)]}}"#)
    #expect(reply.status == 200 && reply.body.contains(asked.1), "\(reply.body)")
    await client.refuses(
      "POST :runAggregationQuery",
      #"{"structuredAggregationQuery":{\#(Self.ofRooms),"aggregations":[{"avg":{"field":{"fieldPath":"text"}}}]}}"#,
      429, "RESOURCE_EXHAUSTED")
  }

  @Test(
    "Pages of large documents come to an end, in each order", arguments: DocumentTestStore.allCases,
    ["", "&showMissing=true", "&orderBy=n%20desc"])
  func pages(_ store: DocumentTestStore, _ order: String) async throws {
    // A page has about 8 MiB, and its answer as much.
    let client = try await Self.client(
      store, read: 24 << 20, reads: 24 << 20, documents: 200)
    var names: Set<String> = []
    var token = ""
    var pages = 0
    repeat {
      let reply = await client.ask("GET /r?pageSize=300&pageToken=\(token)\(order)")
      #expect(reply.status == 200, "\(reply.body.prefix(200))")
      let found = reply.body.matches(of: #/"name":"([^"]*)"/#).map { String($0.1) }
      #expect(names.isDisjoint(with: found))
      #expect(found.count <= 85)
      names.formUnion(found)
      token = DocumentRESTClient.text("nextPageToken", reply)
        .replacing("+", with: "%2B").replacing("/", with: "%2F")
      pages += 1
    } while !token.isEmpty && pages < 10
    #expect(names.count == 200 && pages == 3)
    #expect(client.server.readBytes == 0)
  }

  @Test("What many requests at once have claimed is given back")
  func together() async throws {
    let client = try await Self.client(.memory, read: 4 << 20, reads: 4 << 20, documents: 15)
    let statuses = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<12 {
        group.addTask { await client.ask("POST :runQuery", "{\(Self.ofRooms)}").status }
      }
      return await group.reduce(into: Set<Int>()) { $0.insert($1) }
    }
    #expect(statuses.isSubset(of: [200, 429]) && statuses.contains(200), "\(statuses)")
    #expect(client.server.readBytes == 0)
    #expect(await client.ask("POST :runQuery", "{\(Self.ofRooms)}").status == 200)
  }
}
