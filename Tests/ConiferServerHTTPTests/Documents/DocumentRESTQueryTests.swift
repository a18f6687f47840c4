import ConiferDocument
import ConiferDocumentServer
import ConiferServerHTTP
import Testing

/// Reads by `POST`.
@Suite struct DocumentRESTQueryTests {
  private static func client(_ store: DocumentTestStore) async throws -> DocumentRESTClient {
    let client = try DocumentRESTClient(store)
    try await client.make([
      "r/a": ["n": 1, "m": 1], "r/b": ["n": 2, "m": 1], "r/c": ["n": 3], "r/d": ["n": 4, "m": 2],
      "r/a/s/x": ["n": 7], "q/z/s/y": ["n": 8], "s/top": ["n": 9],
    ])
    return client
  }

  private static func ids(_ reply: RESTReply) -> String {
    reply.body.matches(of: #/"name":"[^"]*\/(\w+)"/#).map { String($0.1) }.joined(separator: " ")
  }

  private static func filter(_ field: String, _ op: String, _ value: String) -> String {
    #"{"fieldFilter":{"field":{"fieldPath":"\#(field)"},"op":"\#(op)","value":\#(value)}}"#
  }

  @Test("A query gives what it asks for", arguments: DocumentTestStore.allCases)
  func queries(_ store: DocumentTestStore) async throws {
    let client = try await Self.client(store)
    let two = #"{"integerValue":"2"}"#
    let list = #"{"arrayValue":{"values":[{"integerValue":"1"},{"integerValue":"4"}]}}"#
    let byN = #""orderBy":[{"field":{"fieldPath":"n"},"direction":"DESCENDING"}]"#
    let cases: [(String, String)] = [
      ("", "a b c d"), (#""where":\#(Self.filter("n", "EQUAL", two))"#, "b"),
      (#""where":\#(Self.filter("n", "NOT_EQUAL", two))"#, "a c d"),
      (#""where":\#(Self.filter("n", "LESS_THAN", two))"#, "a"),
      (#""where":\#(Self.filter("n", "GREATER_THAN_OR_EQUAL", two))"#, "b c d"),
      (#""where":\#(Self.filter("n", "IN", list))"#, "a d"),
      (#""where":\#(Self.filter("n", "NOT_IN", list))"#, "b c"),
      (
        #""where":{"compositeFilter":{"op":"OR","filters":[\#(Self.filter("n", "EQUAL", two)),\#(Self.filter("m", "EQUAL", two))]}}"#,
        "b d"
      ),
      (
        #""where":{"compositeFilter":{"op":"AND","filters":[\#(Self.filter("n", "GREATER_THAN", two)),\#(Self.filter("m", "EQUAL", two))]}}"#,
        "d"
      ),
      (#""where":{"unaryFilter":{"field":{"fieldPath":"m"},"op":"IS_NOT_NULL"}}"#, "a b d"),
      (#""where":{"unaryFilter":{"field":{"fieldPath":"n"},"op":"IS_NULL"}}"#, ""),
      (
        #""where":\#(Self.filter("__name__", "GREATER_THAN", #"{"referenceValue":"~/r/b"}"#))"#,
        "c d"
      ),
      // Null stands for what is left out.
      (
        #""where":null,"limit":null,"orderBy":null,"select":{"fields":null},"startAt":null"#,
        "a b c d"
      ),
      // Numbers stand for words.
      (
        #""where":{"compositeFilter":{"op":2,"filters":[\#(Self.filter("n", "EQUAL", two).replacing("\"EQUAL\"", with: "5")),{"unaryFilter":{"field":{"fieldPath":"m"},"op":5}}]}},"orderBy":[{"field":{"fieldPath":"n"},"direction":2}]"#,
        "d b a"
      ),
      (byN, "d c b a"), (#"\#(byN),"limit":2"#, "d c"), (#"\#(byN),"limit":{"value":1}"#, "d"),
      (#"\#(byN),"offset":1,"limit":2"#, "c b"), (#""offset":3"#, "d"), (#""limit":0"#, ""),
      (#"\#(byN),"startAt":{"values":[{"integerValue":"3"}],"before":true}"#, "c b a"),
      (#"\#(byN),"startAt":{"values":[{"integerValue":"3"}]}"#, "b a"),
      (#"\#(byN),"endAt":{"values":[{"integerValue":"3"}]}"#, "d c"),
      (#"\#(byN),"endAt":{"values":[{"integerValue":"3"}],"before":true}"#, "d"),
    ]
    for (query, found) in cases {
      let more = query.isEmpty ? "" : ",\(query)"
      let reply = await client.ask(
        "POST :runQuery", #"{"structuredQuery":{"from":[{"collectionId":"r"}]\#(more)}}"#)
      #expect(reply.status == 200, "\(query): \(reply.body)")
      #expect(Self.ids(reply) == found, "\(query)")
      #expect(reply.body.hasPrefix("[") && reply.body.contains("readTime"))
    }
  }

  @Test(
    "Queries below a document, of a group, with chosen fields, and of nothing",
    arguments: DocumentTestStore.allCases)
  func forms(_ store: DocumentTestStore) async throws {
    let client = try await Self.client(store)
    await client.expect(
      "POST /r/a:runQuery", #"{"structuredQuery":{"from":[{"collectionId":"s"}]}}"#,
      #"[{"document":{"name":"~/r/a/s/x","fields":{"n":{"integerValue":"7"}},"createTime":"t1","updateTime":"t1"},"readTime":"t1"}]"#
    )
    let group = await client.ask(
      "POST :runQuery",
      #"{"structuredQuery":{"from":[{"collectionId":"s","allDescendants":true}]}}"#)
    #expect(Self.ids(group) == "y x top")
    await client.expect(
      "POST :runQuery",
      #"{"structuredQuery":{"from":[{"collectionId":"r"}],"limit":1,"select":{"fields":[{"fieldPath":"m"}]}}}"#,
      #"[{"document":{"name":"~/r/a","fields":{"m":{"integerValue":"1"}},"createTime":"t1","updateTime":"t1"},"readTime":"t1"}]"#
    )
    await client.expect(
      "POST :runQuery",
      #"{"structuredQuery":{"from":[{"collectionId":"r"}],"limit":1,"select":{"fields":[{"fieldPath":"__name__"}]}}}"#,
      #"[{"document":{"name":"~/r/a","createTime":"t1","updateTime":"t1"},"readTime":"t1"}]"#)
    await client.expect(
      "POST :runQuery", #"{"structuredQuery":{"from":[{"collectionId":"none"}]}}"#,
      #"[{"readTime":"t1"}]"#)
    await client.expect(
      "POST :runQuery", #"{"structuredQuery":{"from":[{"collectionId":"r"}],"offset":9}}"#,
      #"[{"skippedResults":4,"readTime":"t1"}]"#)
  }

  @Test("Documents are fetched by name, found or missing", arguments: DocumentTestStore.allCases)
  func batchGet(_ store: DocumentTestStore) async throws {
    let client = try await Self.client(store)
    await client.expect(
      "POST :batchGet", #"{"documents":["~/r/c","~/r/none","~/r/a"],"mask":{"fieldPaths":["n"]}}"#,
      #"[{"found":{"name":"~/r/c","fields":{"n":{"integerValue":"3"}},"createTime":"t1","updateTime":"t1"},"readTime":"t1"},{"missing":"~/r/none","readTime":"t1"},{"found":{"name":"~/r/a","fields":{"n":{"integerValue":"1"}},"createTime":"t1","updateTime":"t1"},"readTime":"t1"}]"#
    )
    await client.expect("POST :batchGet", #"{"documents":[]}"#, "[]")
  }

  @Test("Numbers are computed of what a query finds", arguments: DocumentTestStore.allCases)
  func aggregates(_ store: DocumentTestStore) async throws {
    let client = try await Self.client(store)
    await client.expect(
      "POST :runAggregationQuery",
      #"{"structuredAggregationQuery":{"structuredQuery":{"from":[{"collectionId":"r"}]},"aggregations":[{"alias":"c","count":{}},{"sum":{"field":{"fieldPath":"n"}}},{"alias":"field_1","avg":{"field":{"fieldPath":"n"}}}]}}"#,
      #"[{"result":{"aggregateFields":{"c":{"integerValue":"4"},"field_2":{"integerValue":"10"},"field_1":{"doubleValue":2.5}}},"readTime":"t1"}]"#
    )
    await client.expect(
      "POST :runAggregationQuery",
      #"{"structuredAggregationQuery":{"structuredQuery":{"from":[{"collectionId":"r"}]},"aggregations":[{"alias":"c","count":{"upTo":"3"}}]}}"#,
      #"[{"result":{"aggregateFields":{"c":{"integerValue":"3"}}},"readTime":"t1"}]"#)
    await client.expect(
      "POST :runAggregationQuery",
      #"{"structuredAggregationQuery":{"structuredQuery":{"from":[{"collectionId":"r"}],"offset":1,"limit":2},"aggregations":[{"alias":"s","sum":{"field":{"fieldPath":"n"}}}]}}"#,
      #"[{"result":{"aggregateFields":{"s":{"integerValue":"5"}}},"readTime":"t1"}]"#)
    await client.expect(
      "POST /r/a:runAggregationQuery",
      #"{"structuredAggregationQuery":{"structuredQuery":{"from":[{"collectionId":"s"}]},"aggregations":[{"count":{}}]}}"#,
      #"[{"result":{"aggregateFields":{"field_1":{"integerValue":"1"}}},"readTime":"t1"}]"#)
    await client.refuses(
      "POST :runAggregationQuery",
      #"{"structuredAggregationQuery":{"structuredQuery":{"from":[{"collectionId":"r"}]},"aggregations":[{"alias":"c","count":{}},{"alias":"c","count":{}}]}}"#,
      400, "INVALID_ARGUMENT", "one alias")
    await client.refuses(
      "POST :runAggregationQuery",
      #"{"structuredAggregationQuery":{"structuredQuery":{"from":[{"collectionId":"r"}]}}}"#,
      400, "INVALID_ARGUMENT", "0 aggregates")
  }

  @Test("Ids of collections are listed in pages", arguments: DocumentTestStore.allCases)
  func collections(_ store: DocumentTestStore) async throws {
    let client = try await Self.client(store)
    try await client.make(["r-x/a": [:], "r/a/t/1": [:], "r/a/s/x/deep/1": [:], "r/aa/u/1": [:]])
    await client.expect("POST :listCollectionIds", #"{"collectionIds":["q","r","r-x","s"]}"#)
    await client.expect("POST /r/a:listCollectionIds", "{}", #"{"collectionIds":["s","t"]}"#)
    await client.expect("POST /q/z:listCollectionIds", #"{"collectionIds":["s"]}"#)
    await client.expect("POST /r/none:listCollectionIds", "{}", "{}")
    var (found, token): ([String], String) = ([], "")
    repeat {
      let reply = await client.ask(
        "POST :listCollectionIds", #"{"pageSize":1,"pageToken":"\#(token)"}"#)
      found.append(String(reply.body.firstMatch(of: #/\["([^"]*)"\]/#)?.1 ?? "?"))
      token = DocumentRESTClient.text("nextPageToken", reply)
    } while !token.isEmpty && found.count < 20
    #expect(found == ["q", "r", "r-x", "s"])
  }
}
